// A tiny bidirectional model fills a gap (ch13): the reader hides a word of a sentence and sees the
// likeliest words for its place; then another word changes, on either side, and the model is asked
// again. One sentence comes with the page; the model is fetched when the reader changes anything.
(() => {
  const { html, button, bar, chips, headings, picker, softmax, sum, mount } =
    globalThis.explorerKit;
  const { FETCHING, languageModel } = globalThis.running;
  const SHOWN = 5;
  const [UNK, MASK] = [3, 4]; // ids; below them are those of padding, beginning and end
  const start = {};
  const load = languageModel("gap");
  // As the corpus has its words: solutions/translator/corpus/spelling.py. It has no short forms.
  const wordsOf = (text) => text.normalize("NFC").toLowerCase().replace(/’/g, "'")
    .replace(/\bcan't\b/g, "cannot").replace(/n't\b/g, " not")
    .replace(/[.,!]/g, " ").match(/[^\s'?]*'|[^\s'?]+|\?/g) ?? [];
  const joined = (words) => words.join(" ").replaceAll("' ", "'").replaceAll(" ?", "?");

  const percent = (share) =>
    share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(1)}%`;
  const likeliest = (shares) =>
    shares.map((_, id) => id).sort((a, b) => shares[b] - shares[a] || a - b).slice(0, SHOWN);

  // How much of the probability is at other words: half the sum of all differences.
  const shifted = (before, after) => sum(before.map((share, id) => Math.abs(share - after[id]))) / 2;

  function build({ model, el, redraw, verdict, say }) {
    const vocabulary = model.get("vocabulary");
    const first = model.get("first");
    const offered = vocabulary.slice(MASK + 1);
    let { words, gap, place, other } = first; // `other` takes the place of words[place]
    let [before, after] = [first.before, first.after]; // shares of all words at the gap
    let turn = 0;
    let loaded = false;

    const typing = { type: "text", maxlength: "200", autocomplete: "off", spellcheck: "false" };
    const input = html("input", { ...typing, class: "explorer-button", lang: "en" });
    input.value = joined(words);
    const form = html("form", { class: "translator-form", onsubmit: (event) => {
      event.preventDefault();
      read();
    } }, html("label", { class: "translator-label" }, html("span", {}, "English"), input),
    html("button", { type: "submit", class: "explorer-button translator-go" }, "Read it"));
    const examples = html("p", { class: "translator-examples" }, html("span", {}, "Try: "),
      ...model.get("examples").map((text) => button(text, () => {
        input.value = text;
        read();
      }, "translator-example")));
    const status = html("p", { class: "translator-status", role: "status" });
    const hide = html("fieldset", { class: "gap-choice" });
    const changed = html("div", { class: "explorer-controls" });
    const sentences = html("div", { class: "gap-sentences" });
    const rows = html("tbody");
    const table = html("table", { class: "explorer-table gap-table" },
      html("caption", {}, "What fits the gap: ", html("span", {}, "as it was"), " and ",
        html("span", { class: "gap-after" }, "with the other word")),
      headings(["word", "", "as it was", "changed"]), rows);

    const replaced = () => words.map((word, at) => (at === place ? other : word));

    // A sentence from the field.
    function read() {
      const found = wordsOf(input.value);
      const longest = model.get("longest");
      if (found.length < 2) {
        status.textContent = "Type a sentence of at least two words.";
        return;
      }
      if (found.length > longest) {
        status.textContent = `The model reads no more than ${longest} words.`;
        return;
      }
      words = found;
      gap = Math.min(1, words.length - 1);
      place = gap + 1 < words.length ? gap + 1 : 0;
      other = words[place];
      drawChoices();
      ask();
    }

    // Asks the model about the sentence as it was, and with the other word.
    async function ask() {
      const mine = ++turn;
      [before, after] = [null, null];
      status.textContent = loaded ? "" : FETCHING;
      redraw();
      try {
        const { ids, score } = await load();
        loaded = true;
        const known = (word) => ids.get(word) ?? UNK;
        const shares = async (sentence) => {
          const row = sentence.map((word, at) => (at === gap ? MASK : known(word)));
          return softmax((await score(row))[gap]);
        };
        const one = await shares(words);
        const two = other === words[place] ? one : await shares(replaced());
        if (mine !== turn) return;
        [before, after] = [one, two];
        const unknown = [...new Set(words.filter((word) => !ids.has(word)))];
        status.textContent = unknown.length
          ? `Not in its vocabulary: ${unknown.join(", ")}. It reads around them.` : "";
      } catch (error) {
        if (mine === turn) status.textContent = error.message;
      } finally {
        if (mine === turn) {
          el.dataset.finished = String(mine);
          redraw();
        }
      }
    }

    function drawChoices() {
      const hidden = chips(words, (at) => {
        gap = at;
        if (place === gap) {
          place = gap + 1 < words.length ? gap + 1 : gap - 1;
          other = words[place];
        }
        drawOther();
        ask();
      });
      hidden.inputs[gap].checked = true;
      hide.replaceChildren(html("legend", {}, "Hide this word"),
        html("div", { class: "explorer-chips", lang: "en" }, ...hidden.all));
      drawOther();
    }

    // The choice of the other word: where it is, and what it becomes.
    function drawOther() {
      const others = words.flatMap((_, at) => (at === gap ? [] : [at]));
      const side = (at) => (at > gap ? "right of the gap" : "left of it");
      const where = picker("Change a word", others.map((at) => `${words[at]} (${side(at)})`),
        (i) => {
          place = others[i];
          other = words[place];
          fill();
          ask();
        });
      where.input.value = others.indexOf(place);
      let choices = [];
      const into = picker("into", [], (i) => {
        other = choices[i];
        ask();
      });
      function fill() {
        choices = [words[place], ...offered.filter((word) => word !== words[place])];
        into.input.replaceChildren(...choices.map((word, i) =>
          html("option", { value: i }, i ? word : `${word} (as it was)`)));
        into.input.value = choices.indexOf(other);
      }
      fill();
      changed.replaceChildren(where.field, into.field);
    }

    function drawSentence(name, sentence) {
      return html("p", {}, html("span", { class: "gap-name" }, name), " ",
        html("span", { lang: "en" }, ...sentence.flatMap((word, at) => [at ? " " : "",
          at === gap ? html("span", { class: "gap-hole" },
            html("span", { class: "explorer-hidden" }, "the gap"), "____")
            : at === place && other !== words[place] && sentence !== words
              ? html("strong", {}, word) : word])));
    }

    function drawTable(same) {
      const best = [...new Set([...likeliest(before), ...(same ? [] : likeliest(after))])];
      const most = Math.max(...best.map((id) => Math.max(before[id], after[id])));
      rows.replaceChildren(...best.map((id) => {
        const [grey, orange] = [bar(), bar()];
        grey.fill(before[id] / most);
        orange.fill(after[id] / most);
        const [thin] = grey.track.children;
        thin.classList.add("gap-grey");
        orange.track.prepend(thin);
        orange.track.classList.toggle("gap-same", same);
        const name = vocabulary[id] === words[gap]
          ? [vocabulary[id], html("small", {}, " (hidden)")] : [vocabulary[id]];
        return html("tr", {}, html("th", { scope: "row" }, ...name), orange.track,
          html("td", {}, percent(before[id])), html("td", {}, same ? "" : percent(after[id])));
      }));
    }

    // The word that was hidden: how likely the model finds it, and which place it has.
    function judged() {
      const id = vocabulary.indexOf(words[gap]);
      if (id < 0) return `“${words[gap]}”, which is hidden, is a word that the model cannot say.`;
      const rank = before.filter((share, at) =>
        share > before[id] || (share === before[id] && at < id)).length + 1;
      return `“${words[gap]}”, which is hidden, gets ${percent(before[id])}: number ${rank} of ${
        vocabulary.length}.`;
    }

    function update() {
      const same = other === words[place];
      sentences.replaceChildren(drawSentence("As it was", words),
        ...(same ? [] : [drawSentence("Changed", replaced())]));
      table.hidden = !before;
      if (!before) {
        say(`“${words[gap]}” is hidden, and the model has not answered yet.`);
        return;
      }
      drawTable(same);
      const [top, now] = [before, after].map((shares) => vocabulary[likeliest(shares)[0]]);
      const told = [judged()];
      if (top !== words[gap]) told.push(`The likeliest word is “${top}”.`);
      if (!same) {
        const share = percent(shifted(before, after));
        told.push(`With “${other}” instead of “${words[place]}”, ${share} of the probability goes to ` +
          `other words, and ${top === now ? `“${now}” is still` : `“${now}” is now`} the likeliest.`);
        told.push(place > gap
          ? "The changed word is to the right of the gap: a GPT could not see it, and would give " +
            "the same answer to both."
          : "The changed word is to the left of the gap, where a GPT could see it as well.");
      } else told.push("Change another word, and see what that does to the gap.");
      say(told.join(" "));
    }

    drawChoices();
    return { update, stop: () => { turn += 1; },
      children: [form, examples, status, hide, changed, sentences, table, verdict] };
  }

  mount("gap", { start, wordsOf, joined, shifted, build });
})();
