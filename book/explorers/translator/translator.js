// The trained translator in the page, word by word, with the cross-attention of every head. One
// sentence comes with the page; the model is fetched when the reader asks for another.
(() => {
  const { html, sum, largestAt, italian, said, mount } = globalThis.explorerKit;
  const { writing, idsOf, joined, isWord, asking, pause } = globalThis.translating;

  // What the chosen head, or the mean of all heads of the last layer, gives to each word of the
  // source.
  function looks(weights, head) {
    if (head) {
      const [layer, number] = head.split(".").map(Number);
      return weights[layer][number];
    }
    const last = weights.at(-1);
    return last[0].map((_, word) => sum(last.map((each) => each[word])) / last.length);
  }

  // The head that looks hardest at the most different words, one after the other; among equals, the
  // one that looks hardest.
  function busiest(weights) {
    let best = { layer: 0, head: 0, words: 0, sharpness: 0 };
    (weights[0] ?? []).forEach((heads, layer) => heads.forEach((_, head) => {
      const rows = weights.map((step) => step[layer][head]);
      const words = new Set(rows.map(largestAt)).size;
      const sharpness = sum(rows.map((row) => Math.max(...row))) / rows.length;
      const better = words - best.words || sharpness - best.sharpness;
      if (better > 0) best = { layer, head, words, sharpness };
    }));
    return best;
  }

  // The last word of a translation that says something by itself: the first to show.
  const contentWord = (written) =>
    Math.max(0, written.findLastIndex((word) => isWord(word) && /\p{L}/u.test(word)));

  // Lets the page know what the translator does: its map of the Transformer listens.
  const tell = (phase, word) =>
    document.dispatchEvent(new CustomEvent("translator", { detail: { phase, word } }));

  function build({ model, el }) {
    // {source: [words], written: [words], weights: [steps][layers][heads][words]}
    const first = model.get("first");
    let shown = first;
    let chosen = contentWord(first.written);
    let picked = false; // whether the reader chose a word of this translation

    const { form, offered, status, stop } = asking({ el, value: first.source.join(" "),
      examples: model.get("examples"), write, refuse: nothing,
      still: () => joined(shown.source) });
    const sentence = html("p", { class: "translator-sentence", lang: "it" });
    const source = html("div", { class: "translator-source", lang: "en" });
    const written = html("div",
      { class: "translator-written", role: "group", "aria-label": "Written words: choose one" });
    const head = html("select", { class: "explorer-button", onchange: drawSource });
    const [hint, caption, task] = ["", "", "Choose a word of the translation:"].map((text) =>
      html("p", { class: "translator-caption" }, text));
    const work = html("p", { class: "translator-caption translator-work" });

    function drawHeads(layers) {
      const options = [html("option", { value: "" }, "mean of the last layer’s heads")];
      layers.forEach((heads, layer) => heads.forEach((_, number) => {
        const name = `layer ${layer + 1}, head ${number + 1}`;
        options.push(html("option", { value: `${layer}.${number}` }, name));
      }));
      const before = head.value;
      head.replaceChildren(...options);
      head.value = options.some((option) => option.value === before) ? before : "";
    }

    function drawSource() {
      const word = shown.written[chosen];
      const when = isWord(word) ? said`when it wrote ${italian(`“${word}”`)}`
        : "when it ended the sentence";
      const sentence = said`How much it looked at each English word ${when}: its attention weights,
        which sum to 1.`;
      caption.replaceChildren(...(shown.written.length ? sentence : []));
      const weights = shown.weights.length ? looks(shown.weights[chosen], head.value)
        : shown.source.map(() => 0);
      source.replaceChildren(...shown.source.map((word, i) => {
        const number = html("small", {}, weights[i].toFixed(2));
        const chip = html("span", { class: "translator-word explorer-heat" },
          html("span", {}, word), number);
        chip.style.setProperty("--weight", weights[i].toFixed(3));
        return chip;
      }));
    }

    function drawHint() {
      const { layer, head: number, words } = busiest(shown.weights);
      const name = `layer ${layer + 1}, head ${number + 1}`;
      const some = `${words} of the ${shown.source.length} English words`;
      hint.textContent = words > 1
        ? `Heads, attentions side by side, differ. Choose ${name}: word by word it moves on, and ` +
          `looks hardest at ${some} in turn.` : "";
    }

    // What the cache of keys and values saves: without it each word means all positions again.
    function drawWork(steps) {
      const computed = sum(steps.map(({ positions }) => positions));
      const without = (steps.length * (steps.length + 1)) / 2;
      work.textContent = steps.length
        ? `Positions that the decoder computed: ${computed}. Without its cache of keys and values ` +
          `they would be ${without}.` : "";
    }

    function press() {
      [...written.children].forEach((each, i) =>
        each.setAttribute("aria-pressed", String(i === chosen)));
    }

    function choose(place) {
      chosen = place;
      press();
      drawSource();
    }

    function drawWritten() {
      if (written.children.length > shown.written.length) written.replaceChildren();
      const known = written.children.length; // what is there stays, and with it the reader's focus
      written.append(...shown.written.slice(known).map((word, place) => {
        const onclick = () => {
          picked = true;
          choose(known + place);
        };
        const language = isWord(word) ? { lang: "it" } : {};
        return html("button", { type: "button", class: "explorer-button", ...language, onclick },
          isWord(word) ? word : "end");
      }));
      press();
      sentence.textContent = joined(shown.written.filter(isWord));
    }

    function nothing() {
      tell("rest");
      shown = { source: [], written: [], weights: [] };
      drawWritten();
      drawSource();
      drawHint();
      drawWork([]);
    }

    async function write(loaded, words, check) {
      shown = { source: words, written: [], weights: [] };
      written.replaceChildren();
      drawHint();
      drawWork([]);
      picked = false;
      const steps = [];
      tell("read");
      try {
        for await (const step of writing(loaded, idsOf(words, loaded))) {
          check();
          steps.push(step);
          const word = loaded.words.target[step.id];
          tell("write", isWord(word) ? word : "");
          shown.written.push(word);
          shown.weights.push(step.weights);
          if (shown.written.length === 1) drawHeads(shown.weights[0]);
          if (!picked) chosen = shown.written.length - 1;
          drawWritten();
          drawSource();
          drawWork(steps);
          await pause();
        }
      } finally {
        check(); // whoever asked since then tells what happens now
        tell("rest");
      }
      if (!picked) choose(contentWord(shown.written));
      drawHint();
    }

    drawHeads(first.weights[0]);
    drawWritten();
    drawSource();
    drawHint();
    const picker = html("label", { class: "translator-head" }, html("span", {}, "Head "), head);
    const children = [form, status, sentence, task, written, caption, source, picker, hint, work,
      offered];
    return { update() {}, children, stop };
  }

  mount("translator", { build, looks, busiest });
})();
