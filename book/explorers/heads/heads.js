// The heads of a trained model: whom each looks at, how much of each is let through, and which answers suffer.
(() => {
  const DEFAULTS = { sentence: 0, query: 2, gates: [1, 1, 1, 1], averaged: false };

  // The arithmetic of `mixed` in book/experiments/four_questions.py for one query: the logits are a base plus, for each head, its gate times
  // the average of what the keys offer under the head's weights. With `averaged`, every head uses the mean of all heads' weights.
  // What is `given` comes from elsewhere.
  function compute({ weights, offers, base, gates, averaged, query }, given = {}) {
    const own = weights.map((map) => map[query]);
    const mean = own[0].map((_, key) => own.reduce((sum, row) => sum + row[key], 0) / own.length);
    const maps = given.maps ?? own.map((row) => (averaged ? mean : row));
    const logits = given.logits ?? base.map((row) => [...row]);
    if (!given.logits) maps.forEach((row, head) => row.forEach((weight, key) => offers[head][key].forEach((offered, question) => {
      offered.forEach((number, word) => { logits[question][word] += gates[head] * weight * number; });
    })));
    const probabilities = logits.map(softmax);
    return { maps, logits, probabilities, best: probabilities.map((row) => row.indexOf(Math.max(...row))) };
  }

  function outcome(model, { sentence, query, gates, averaged = false }, given) {
    const { weights, offers } = model.get("sentences")[sentence];
    return compute({ weights, offers, base: model.get("base"), gates, averaged, query: Math.min(query, weights[0].length - 1) }, given);
  }

  function softmax(scores) {
    const largest = Math.max(...scores);
    const exponentials = scores.map((score) => Math.exp(score - largest));
    const total = exponentials.reduce((sum, number) => sum + number, 0);
    return exponentials.map((number) => number / total);
  }

  const percent = (share) => Math.round(100 * share);

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const QUESTION = {
    before: "Which word stands before it?",
    after: "Which word stands after it?",
    verb: "Which word is the verb?",
    first: "Which word is first?",
  };

  let instances = 0;

  function render({ model, el }) {
    for (const [key, value] of Object.entries(DEFAULTS)) if (model.get(key) === undefined) model.set(key, value);
    const { words: vocabulary, questions, sentences } = Object.fromEntries(
      ["words", "questions", "sentences"].map((key) => [key, model.get(key)]));
    const heads = sentences[0].weights.length;
    const group = `heads-${(instances += 1)}`;
    const now = () => Object.fromEntries(Object.keys(DEFAULTS).map((key) => [key, model.get(key)]));
    const choose = (changes) => {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    };

    // Controls that stay: the sentence, a gate for each head, the switch.
    const select = html("select", { id: `${group}-sentence` }, ...sentences.map(({ words }, i) => html("option", { value: i }, words.join(" "))));
    const chips = html("div", { class: "heads-chips" });
    const asking = html("fieldset", { class: "heads-asking" }, html("legend", {}, "The word that asks"), chips);
    const sliders = Array.from({ length: heads }, (_, head) => {
      const number = html("span", { class: "heads-number", "aria-hidden": "true" });
      const input = html("input", { type: "range", min: 0, max: 1, step: 0.05 });
      input.addEventListener("input", () => {
        const gates = [...model.get("gates")];
        gates[head] = Number(input.value);
        choose({ gates });
      });
      return { number, input, field: html("label", { class: "heads-field" }, html("span", {}, `Head ${head} `, number), input) };
    });
    const averaged = html("input", { type: "checkbox" });
    const mixing = html("label", { class: "heads-switch" }, averaged, html("span", {}, "One average: every head uses the mean of all maps"));
    const mapBody = html("tbody");
    const mapHead = html("tr");
    const maps = html("table", { class: "heads-maps" }, html("caption", {}, "Weights, in percent"), html("thead", {}, mapHead), mapBody);
    const answerRows = questions.map((question) => {
      const bar = html("span", { class: "heads-bar" });
      const [said, share, mark] = [html("td", { class: "heads-said" }), html("td", { class: "heads-share" }), html("td", { class: "heads-mark" })];
      const track = html("td", { class: "heads-track", "aria-hidden": "true" }, bar);
      const row = html("tr", {}, html("th", { scope: "row" }, QUESTION[question] ?? question), said, track, share, mark);
      return { bar, said, share, mark, row };
    });
    const answers = html("table", { class: "heads-answers" }, html("caption", {}, "What the model answers"),
      html("thead", { class: "heads-hidden" }, html("tr", {}, ...["question", "answer", "", "probability", "right?"].map((name) =>
        name ? html("th", { scope: "col" }, name) : html("td", { "aria-hidden": "true" })))),
      html("tbody", {}, ...answerRows.map(({ row }) => row)));
    const spoken = html("p", { class: "heads-hidden", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root heads" },
      html("label", { class: "heads-sentence", for: select.id }, html("span", {}, "Sentence"), select),
      asking, maps,
      html("div", { class: "heads-controls" }, ...sliders.map(({ field }) => field)),
      ...(model.get("computed") ? [] : [mixing]), // a learner's heads mix as they do
      answers, spoken));

    // What belongs to one sentence: the words to choose from, and the table of weights.
    let radios, cells, drawn;
    function lay(sentence) {
      drawn = sentence;
      const { words } = sentences[sentence];
      radios = words.map((word, i) => html("input", { type: "radio", name: group, value: i }));
      radios.forEach((radio, i) => radio.addEventListener("change", () => choose({ query: i })));
      chips.replaceChildren(...words.map((word, i) => html("label", {}, radios[i], html("span", {}, word))));
      mapHead.replaceChildren(html("td"), ...words.map((word) => html("th", { scope: "col" }, html("span", {}, word))));
      cells = Array.from({ length: heads }, () => words.map(() => html("td")));
      mapBody.replaceChildren(...cells.map((row, head) => html("tr", {}, html("th", { scope: "row" }, `head ${head}`), ...row)));
    }

    let timer;
    function update() {
      const { sentence, query: wished, gates: wanted, averaged: mean } = now();
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const state = answer?.inputs ?? now();
      if (drawn !== state.sentence) lay(state.sentence);
      const { words, answers: right } = sentences[state.sentence];
      const query = Math.min(state.query, words.length - 1);
      const { gates } = state;
      const result = outcome(model, state, answer?.numbers);
      select.value = sentence;
      averaged.checked = mean;
      radios.forEach((radio, i) => { radio.checked = i === Math.min(wished, words.length - 1); });
      mapHead.querySelectorAll("th").forEach((cell, i) => cell.classList.toggle("heads-query", i === query));
      sliders.forEach(({ number, input }, head) => {
        input.value = wanted[head];
        number.textContent = `${percent(wanted[head])}%`;
        input.setAttribute("aria-valuetext", `${percent(wanted[head])} percent of head ${head}`);
      });
      cells.forEach((row, head) => row.forEach((cell, key) => {
        cell.textContent = percent(result.maps[head][key]);
        cell.style.setProperty("--weight", (result.maps[head][key] * gates[head]).toFixed(3));
        cell.classList.toggle("heads-faint", gates[head] < 0.05);
      }));
      let [asked, correct] = [0, 0];
      answerRows.forEach(({ bar, said, share, mark }, question) => {
        const word = vocabulary[result.best[question]];
        const wanted = right[query][question];
        const probability = result.probabilities[question][result.best[question]];
        said.textContent = wanted === null ? "–" : word;
        share.textContent = wanted === null ? "" : `${percent(probability)}%`;
        bar.style.width = wanted === null ? 0 : `${100 * probability}%`;
        mark.textContent = wanted === null ? "no such word" : word === wanted ? "✓ right" : `✗ it is ${wanted}`;
        mark.classList.toggle("heads-wrong", wanted !== null && word !== wanted);
        asked += wanted !== null;
        correct += wanted !== null && word === wanted;
      });
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = `“${words[query]}”: ${correct} of ${asked} answers are right.`; }, 400);
    }

    select.addEventListener("change", () => choose({ sentence: Number(select.value) }));
    averaged.addEventListener("change", () => choose({ averaged: averaged.checked }));
    const events = [...Object.keys(DEFAULTS), "computed"].map((key) => `change:${key}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.heads = { render, compute, outcome };
})();
