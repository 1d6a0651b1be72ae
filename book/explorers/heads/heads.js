// The heads of a trained model: whom each looks at, how much of each is let through, and which
// answers suffer.
(() => {
  const { html, headings, bar, slider, picker, checkbox, chips, sum, largestAt, softmax, mount } =
    globalThis.explorerKit;
  const start = { sentence: 0, query: 2, gates: [1, 1, 1, 1], averaged: false };
  const QUESTION = {
    before: "Which word stands before it?",
    after: "Which word stands after it?",
    verb: "Which word is the verb?",
    first: "Which word is first?",
  };

  // The arithmetic of `mixed` in book/experiments/four_questions.py for one query: the logits are a
  // base plus, for each head, its gate times the average of what the keys offer under the head's
  // weights. With `averaged`, every head uses the mean of all heads' weights. What is `given` comes
  // from elsewhere.
  function compute({ weights, offers, base, gates, averaged, query }, given = {}) {
    const own = weights.map((map) => map[query]);
    const mean = own[0].map((_, key) => sum(own.map((row) => row[key])) / own.length);
    const maps = given.maps ?? own.map((row) => (averaged ? mean : row));
    const brought = (question, word) => sum(maps.map((row, head) =>
      gates[head] * sum(row.map((weight, key) => weight * offers[head][key][question][word]))));
    const logits = given.logits ?? base.map((row, question) =>
      row.map((number, word) => number + brought(question, word)));
    const probabilities = logits.map(softmax);
    return { maps, logits, probabilities, best: probabilities.map(largestAt) };
  }

  function outcome(model, { sentence, query, gates, averaged = false }, given) {
    const { weights, offers } = model.get("sentences")[sentence];
    const [base, last] = [model.get("base"), weights[0].length - 1];
    const state = { weights, offers, base, gates, averaged, query: Math.min(query, last) };
    return compute(state, given);
  }

  const percent = (share) => Math.round(100 * share);

  // The weights of every head for the word that asks. `lay` makes the columns of a sentence.
  function weightsTable(heads) {
    const [body, head] = [html("tbody"), html("tr")];
    const element = html("table", { class: "explorer-table explorer-result heads-maps" },
      html("caption", {}, "Weights, in percent"), html("thead", {}, head), body);
    let cells;
    function lay(words) {
      const named = words.map((word) => html("th", { scope: "col" }, html("span", {}, word)));
      head.replaceChildren(html("td"), ...named);
      const cell = () => html("td", { class: "explorer-heat" });
      cells = Array.from({ length: heads }, () => words.map(cell));
      body.replaceChildren(...cells.map((row, number) =>
        html("tr", {}, html("th", { scope: "row" }, `head ${number}`), ...row)));
    }
    function show(maps, gates, query) {
      [...head.querySelectorAll("th")].forEach((cell, i) =>
        cell.classList.toggle("heads-query", i === query));
      cells.forEach((row, number) => row.forEach((cell, key) => {
        cell.textContent = percent(maps[number][key]);
        cell.style.setProperty("--weight", (maps[number][key] * gates[number]).toFixed(3));
        cell.classList.toggle("heads-faint", gates[number] < 0.05);
      }));
    }
    return { element, lay, show };
  }

  function answersTable(questions, vocabulary) {
    const rows = questions.map((question) => {
      const cell = (name) => html("td", { class: `heads-${name}` });
      const [answer, share, mark] = ["said", "share", "mark"].map(cell);
      const { track, fill } = bar();
      const heading = html("th", { scope: "row" }, QUESTION[question] ?? question);
      const row = html("tr", {}, heading, answer, track, share, mark);
      return { fill, answer, share, mark, row };
    });
    const head = headings(["question", "answer", "", "probability", "right?"]);
    head.classList.add("explorer-hidden");
    const element = html("table", { class: "explorer-table explorer-result heads-answers" },
      html("caption", {}, "What the model answers"), head,
      html("tbody", {}, ...rows.map(({ row }) => row)));

    // Shows the answers, and returns how many of those that exist are right.
    function show({ best, probabilities }, wanted) {
      rows.forEach(({ fill, answer, share, mark }, question) => {
        const [word, right] = [vocabulary[best[question]], wanted[question]];
        const probability = right === null ? 0 : probabilities[question][best[question]];
        answer.textContent = right === null ? "–" : word;
        share.textContent = right === null ? "" : `${percent(probability)}%`;
        fill(probability);
        mark.textContent = word === right ? "✓ right" : `✗ it is ${right}`;
        if (right === null) mark.textContent = "no such word";
        mark.classList.toggle("explorer-wrong", right !== null && word !== right);
      });
      const asked = wanted.filter((right) => right !== null).length;
      const correct = wanted.filter((right, i) => right === vocabulary[best[i]]).length;
      return `${correct} of ${asked} answers are right.`;
    }
    return { element, show };
  }

  function build({ model, choose, say }) {
    const [questions, sentences, words] = ["questions", "sentences", "words"].map((key) =>
      model.get(key));
    const heads = sentences[0].weights.length;
    const sentence = picker("Sentence", sentences.map((each) => each.words.join(" ")), (i) =>
      choose({ sentence: i }));
    sentence.field.classList.add("heads-sentence");
    const asking = html("div", { class: "explorer-chips heads-chips" });
    const asker = html("fieldset", { class: "heads-asking" },
      html("legend", {}, "The word that asks"), asking);
    const gates = Array.from({ length: heads }, (_, head) =>
      slider(`Head ${head}`, { min: 0, max: 1, step: 0.05 }, (gate) =>
        choose({ gates: model.get("gates").map((old, i) => (i === head ? gate : old)) })));
    const averaged = checkbox("One average: replace all maps by their mean (the model was not trained for this)", (on) =>
      choose({ averaged: on }));
    // a learner's heads mix as they do
    const switches = model.get("computed") ? [] : [averaged.field];
    const maps = weightsTable(heads);
    const answers = answersTable(questions, words);

    // What belongs to one sentence: the words to choose from, and the table of weights.
    let radios, drawn;
    function lay(number) {
      drawn = number;
      const { inputs, all } = chips(sentences[number].words, (query) => choose({ query }));
      radios = inputs;
      asking.replaceChildren(...all);
      maps.lay(sentences[number].words);
    }

    function update(now, answer) {
      const state = answer?.inputs ?? now;
      if (drawn !== state.sentence) lay(state.sentence);
      const { words: read, answers: wanted } = sentences[state.sentence];
      const query = Math.min(state.query, read.length - 1);
      const result = outcome(model, state, answer?.numbers);
      sentence.input.value = now.sentence;
      averaged.input.checked = now.averaged;
      const chosen = Math.min(now.query, read.length - 1);
      radios.forEach((radio, i) => { radio.checked = i === chosen; });
      gates.forEach((gate, head) => {
        const open = percent(now.gates[head]);
        gate.show(now.gates[head], `${open}%`, `${open} percent of head ${head}`);
      });
      maps.show(result.maps, state.gates, query);
      say(`“${read[query]}”: ${answers.show(result, wanted[query])}`);
    }
    const fields = gates.map(({ field }) => field);
    const controls = html("div", { class: "explorer-controls" }, ...fields);
    const children = [sentence.field, asker, maps.element, controls, ...switches, answers.element];
    return { update, children };
  }

  mount("heads", { start, compute, outcome, build });
})();
