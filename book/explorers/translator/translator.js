// The trained translator in the page: greedy decoding by two ONNX graphs
// (solutions/translator/export_onnx.py makes them), word by word, with the cross-attention of every
// head. One sentence comes with the page; the model is fetched when the reader asks for another.
(() => {
  const { html, button, sum, largestAt, italian, said, mount } = globalThis.explorerKit;
  // of the page's static files
  const BASE = document.currentScript ? new URL("..", document.currentScript.src) : null;
  const [BOS, EOS, UNK] = [1, 2, 3];
  const PAUSE = 140; // milliseconds between words, where motion is welcome
  const LONGEST = 12; // words of the longest sentence that it was trained on
  const SINGLE =
    "It was trained on whole sentences and has never seen a single word, so this is a guess.";
  const FETCHING = "Fetching the model: some megabytes, once.";
  // As solutions/translator/data/tokenizer.py: what a word is, and where no space stands.
  const LETTER = "\\p{L}\\p{M}\\p{N}_";
  const WORD = new RegExp([
    "[0-9]+(?:[.,][0-9]+)*",
    `[${LETTER}]+(?:-[${LETTER}]+)*['’]?`,
    `[^\\s${LETTER}]`,
  ].join("|"), "gu");
  const NO_SPACE_BEFORE = "?!.,;:)]}»…%";
  const NO_SPACE_AFTER = "'’([{«¿¡";

  const wordsOf = (text) => text.normalize("NFC").match(WORD) ?? [];
  const unknownAmong = (words, ids) => [...new Set(words)].filter((word) => !ids.has(word));
  const isWord = (word) => word !== "<eos>";

  // What people type, and how the model's corpus has it, as in solutions/translator/runs.py.
  const SPELLED_OUT = [
    [/,(?=\s|$)/g, ""],
    [/\bcan['’]t\b/g, "cannot"],
    [/\bwon['’]t\b/g, "will not"],
    [/n['’]t\b/g, " not"],
    [/['’]m\b/g, " am"],
    [/['’]re\b/g, " are"],
    [/\b(he|she|it|that|what|where|who)['’]s\b/g, "$1 is"],
  ];

  // A sentence without capitals, commas, full stop and short forms, where its words are better
  // known so.
  function asKnown(text, ids) {
    const bare = text.toLowerCase().replace(/[.! ]+$/, "");
    const plain = SPELLED_OUT.reduce((sentence, change) => sentence.replace(...change), bare);
    const unknown = (sentence) => unknownAmong(wordsOf(sentence), ids).length;
    return unknown(plain) < unknown(text) ? plain : text;
  }

  // Words put together as people write them.
  function joined(words) {
    const apart = (word, i) =>
      i > 0 && !NO_SPACE_BEFORE.includes(word) && !NO_SPACE_AFTER.includes(words[i - 1].at(-1));
    return words.map((word, i) => (apart(word, i) ? " " : "") + word).join("");
  }

  let loading; // one model for all explorers of a page
  function load() {
    loading ??= fetchModel().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  }

  async function fetchModel() {
    const stop = (why) => { throw new Error(why); };
    if (typeof WebAssembly !== "object")
      stop("This browser runs no WebAssembly, which the model needs.");
    if (!BASE || BASE.protocol === "file:")
      stop("The model needs a page that comes over http: serve the book’s folder.");
    const folder = new URL("translator-model/", BASE);
    const answer = await fetch(new URL("words.json", folder));
    if (!answer.ok) stop("This copy of the book was built without the model.");
    const words = await answer.json();
    const ort = await import(new URL("vendor/onnxruntime/ort.wasm.min.mjs", BASE));
    ort.env.wasm.wasmPaths = new URL("vendor/onnxruntime/", BASE).href;
    ort.env.wasm.numThreads = 1;
    const graph = (name) => ort.InferenceSession.create(new URL(name, folder).href);
    const encoder = await graph("encoder.onnx");
    const step = await graph("step.onnx");
    return { ort, words, encoder, step, ids: new Map(words.source.map((word, id) => [word, id])) };
  }

  // Translates ids; `hear` is told of each word as it comes. Each step has the word's id and its
  // weights, layers × heads × source words.
  async function translate(model, source, hear = () => {}) {
    const { ort, encoder, step, words: { factor, extra } } = model;
    const row = (ids) => new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]);
    const src = row(source);
    const { memory } = await encoder.run({ src });
    const written = [BOS];
    const steps = [];
    const most = Math.floor(factor * source.length) + extra;
    while (written.at(-1) !== EOS && written.length < most) {
      const { logits, weights } = await step.run({ tgt: row(written), memory, src });
      const id = logits.data.indexOf(logits.data.reduce((one, other) => Math.max(one, other)));
      const [layers, heads, length] = weights.dims;
      const of = (head) => Array.from(weights.data.subarray(head * length, (head + 1) * length));
      const numbers = Array.from({ length: layers }, (_, layer) =>
        Array.from({ length: heads }, (_, head) => of(layer * heads + head)));
      written.push(id);
      steps.push({ id, weights: numbers });
      await hear(steps);
    }
    return steps;
  }

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

  // What is to be said of a sentence before it is translated, and whether it can be.
  function remark(words, { ids, words: { source } }) {
    const unknown = unknownAmong(words, ids);
    const known = source.length - UNK - 1;
    const missing = `Not in its vocabulary of ${known} words: ${unknown.join(", ")}.`;
    if (!words.length) return { text: "Type an English sentence.", hopeless: true };
    if (words.every((word) => !ids.has(word))) {
      const advice = "So there is nothing that it could translate: try one of the examples.";
      return { text: `${missing} ${advice}`, hopeless: true };
    }
    if (unknown.length) return { text: `${missing} It translates around what it does not know.` };
    if (words.length > LONGEST)
      return { text: `That is longer than the ${LONGEST} words of the longest sentence that it ` +
        "was trained on: it may lose its way." };
    return { text: words.length === 1 ? SINGLE : "" };
  }

  function build({ model, el }) {
    // {source: [words], written: [words], weights: [steps][layers][heads][words]}
    const first = model.get("first");
    let shown = first;
    let chosen = contentWord(first.written);
    let picked = false; // whether the reader chose a word of this translation
    let turn = 0;

    const typing = { type: "text", maxlength: "300", autocomplete: "off", spellcheck: "false" };
    const input = html("input", { ...typing, class: "explorer-button", lang: "en",
      oninput() { status.textContent = "Changed: press Enter, or Translate."; } });
    input.value = first.source.join(" ");
    const onsubmit = (event) => {
      event.preventDefault();
      start();
    };
    const form = html("form", { class: "translator-form", onsubmit },
      html("label", { class: "translator-label" }, html("span", {}, "English"), input),
      html("button", { type: "submit", class: "explorer-button translator-go" }, "Translate"));
    const examples = model.get("examples").map((text) => button(text, () => {
      input.value = text;
      start();
    }, "translator-example"));
    const status = html("p", { class: "translator-status", role: "status" });
    const sentence = html("p", { class: "translator-sentence", lang: "it" });
    const source = html("div", { class: "translator-source", lang: "en" });
    const written = html("div",
      { class: "translator-written", role: "group", "aria-label": "Written words: choose one" });
    const head = html("select", { class: "explorer-button", onchange: drawSource });
    const [hint, caption, task] = ["", "", "Choose a word of the translation:"].map((text) =>
      html("p", { class: "translator-caption" }, text));

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

    function nothing(why) {
      shown = { source: [], written: [], weights: [] };
      drawWritten();
      drawSource();
      drawHint();
      status.textContent = why;
    }

    async function write(loaded, words, mine) {
      shown = { source: words, written: [], weights: [] };
      written.replaceChildren();
      drawHint();
      picked = false;
      const pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : PAUSE;
      await translate(loaded, words.map((word) => loaded.ids.get(word) ?? UNK), async (steps) => {
        if (mine !== turn) throw new Error("superseded");
        shown.written.push(loaded.words.target[steps.at(-1).id]);
        shown.weights.push(steps.at(-1).weights);
        if (shown.written.length === 1) drawHeads(shown.weights[0]);
        if (!picked) chosen = shown.written.length - 1;
        drawWritten();
        drawSource();
        if (pause) await new Promise((resume) => setTimeout(resume, pause));
      });
      if (!picked) choose(contentWord(shown.written));
      drawHint();
    }

    async function start() {
      const mine = ++turn;
      try {
        status.textContent = FETCHING;
        const loaded = await load();
        if (mine !== turn) return;
        const words = wordsOf(asKnown(input.value, loaded.ids));
        const { text, hopeless } = remark(words, loaded);
        if (hopeless) {
          nothing(text);
          return;
        }
        status.textContent = text;
        await write(loaded, words, mine);
      } catch (error) {
        if (error.message !== "superseded")
          status.textContent = `${error.message} Shown is still “${joined(shown.source)}”.`;
      } finally {
        if (mine === turn) el.dataset.finished = String(mine);
      }
    }

    drawHeads(first.weights[0]);
    drawWritten();
    drawSource();
    drawHint();
    const picker = html("label", { class: "translator-head" }, html("span", {}, "Head "), head);
    const children = [form, status, sentence, task, written, caption, source, picker, hint,
      html("p", { class: "translator-examples" }, html("span", {}, "Try: "), ...examples)];
    return { update() {}, children, stop: () => { turn += 1; } };
  }

  mount("translator", { build, wordsOf, asKnown, joined, load, translate, looks, busiest });
})();
