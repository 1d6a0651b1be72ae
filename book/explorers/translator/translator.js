// The trained translator in the page: greedy decoding by two ONNX graphs (solutions/translator/export_onnx.py makes them), word by word, with
// the cross-attention of every head. One sentence comes with the page; the model is fetched when the reader asks for another.
(() => {
  const BASE = document.currentScript ? new URL("..", document.currentScript.src) : null; // of the page's static files
  const [BOS, EOS, UNK] = [1, 2, 3];
  const PAUSE = 140; // milliseconds between words, where motion is welcome
  const LONGEST = 12; // words of the longest sentence that it was trained on
  const SINGLE = "It was trained on whole sentences and has never seen a single word, so this is a guess.";
  // As solutions/translator/data/tokenizer.py: what a word is, and where no space stands.
  const WORD = /[0-9]+(?:[.,][0-9]+)*|[\p{L}\p{M}\p{N}_]+(?:-[\p{L}\p{M}\p{N}_]+)*['’]?|[^\s\p{L}\p{M}\p{N}_]/gu;
  const NO_SPACE_BEFORE = "?!.,;:)]}»…%";
  const NO_SPACE_AFTER = "'’([{«¿¡";

  const wordsOf = (text) => text.normalize("NFC").match(WORD) ?? [];
  const unknownAmong = (words, ids) => [...new Set(words)].filter((word) => !ids.has(word));

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

  // A sentence without capitals, commas, full stop and short forms, where its words are better known so.
  function asKnown(text, ids) {
    const bare = text.toLowerCase().replace(/[.! ]+$/, "");
    const plain = SPELLED_OUT.reduce((sentence, [pattern, words]) => sentence.replace(pattern, words), bare);
    const fewer = unknownAmong(wordsOf(plain), ids).length < unknownAmong(wordsOf(text), ids).length;
    return fewer ? plain : text;
  }

  // Words put together as people write them.
  function joined(words) {
    return words.reduce((text, word, i) =>
      text + (i && !NO_SPACE_BEFORE.includes(word) && !NO_SPACE_AFTER.includes(words[i - 1].at(-1)) ? " " : "") + word, "");
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
    if (typeof WebAssembly !== "object") throw new Error("This browser runs no WebAssembly, which the model needs.");
    if (!BASE || BASE.protocol === "file:") throw new Error("The model needs a page that comes over http: serve the book’s folder.");
    const folder = new URL("translator-model/", BASE);
    const answer = await fetch(new URL("words.json", folder));
    if (!answer.ok) throw new Error("This copy of the book was built without the model.");
    const words = await answer.json();
    const ort = await import(new URL("vendor/onnxruntime/ort.wasm.min.mjs", BASE));
    ort.env.wasm.wasmPaths = new URL("vendor/onnxruntime/", BASE).href;
    ort.env.wasm.numThreads = 1;
    const graph = (name) => ort.InferenceSession.create(new URL(name, folder).href);
    const encoder = await graph("encoder.onnx");
    const step = await graph("step.onnx");
    return { ort, words, encoder, step, ids: new Map(words.source.map((word, id) => [word, id])) };
  }

  // Translate ids; `told` hears of each word as it comes. Each step has the word's id and its weights, layers × heads × source words.
  async function translate({ ort, encoder, step, words: { factor, extra } }, source, told = () => {}) {
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
      const numbers = Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (_, head) =>
        Array.from(weights.data.subarray((layer * heads + head) * length, (layer * heads + head + 1) * length))));
      written.push(id);
      steps.push({ id, weights: numbers });
      await told(steps);
    }
    return steps;
  }

  // What the chosen head, or the mean of all heads of the last layer, gives to each word of the source.
  function looks(weights, head) {
    const last = weights.at(-1);
    if (head) {
      const [layer, number] = head.split(".").map(Number);
      return weights[layer][number];
    }
    return last[0].map((_, word) => last.reduce((sum, each) => sum + each[word], 0) / last.length);
  }

  // The head that looks hardest at the most different words, one after the other; among equals, the one that looks hardest.
  function busiest(weights) {
    const best = { layer: 0, head: 0, words: 0, sharpness: 0 };
    (weights[0] ?? []).forEach((heads, layer) => heads.forEach((_, head) => {
      const rows = weights.map((step) => step[layer][head]);
      const words = new Set(rows.map((row) => row.indexOf(Math.max(...row)))).size;
      const sharpness = rows.reduce((sum, row) => sum + Math.max(...row), 0) / rows.length;
      if (words > best.words || (words === best.words && sharpness > best.sharpness)) Object.assign(best, { layer, head, words, sharpness });
    }));
    return best;
  }

  // The last word of a translation that says something by itself: the first to show.
  function contentWord(written) {
    return Math.max(0, written.findLastIndex((word) => word !== "<eos>" && /\p{L}/u.test(word)));
  }

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function render({ model, el }) {
    const first = model.get("first"); // {source: [words], written: [words], weights: [steps][layers][heads][words]}
    let shown = first;
    let chosen = contentWord(first.written);
    let picked = false; // whether the reader chose a word of this translation
    let turn = 0;

    const input = html("input", { type: "text", maxlength: "300", autocomplete: "off", spellcheck: "false", lang: "en" });
    input.value = first.source.join(" ");
    const go = html("button", { type: "submit", class: "translator-button" }, "Translate");
    const form = html("form", { class: "translator-form" },
      html("label", { class: "translator-label" }, html("span", {}, "English"), input), go);
    const examples = html("p", { class: "translator-examples" }, html("span", {}, "Try: "),
      ...model.get("examples").map((text) => {
        const button = html("button", { type: "button", class: "translator-example" }, text);
        button.addEventListener("click", () => {
          input.value = text;
          start();
        });
        return button;
      }));
    const status = html("p", { class: "translator-status", role: "status" });
    const sentence = html("p", { class: "translator-sentence", lang: "it" });
    const source = html("div", { class: "translator-source", lang: "en" });
    const written = html("div", { class: "translator-written", role: "group", "aria-label": "Written words: choose one" });
    const head = html("select");
    const picker = html("label", { class: "translator-head" }, html("span", {}, "Head "), head);
    const hint = html("p", { class: "translator-caption" });
    const caption = html("p", { class: "translator-caption" });
    el.append(html("div", { class: "explorer-root translator" }, form, status, sentence,
      html("p", { class: "translator-caption" }, "Choose a word of the translation:"), written, caption, source, picker, hint, examples));

    function drawHeads(layers) {
      const options = [html("option", { value: "" }, "mean of the last layer’s heads")];
      layers.forEach((heads, layer) => heads.forEach((_, number) =>
        options.push(html("option", { value: `${layer}.${number}` }, `layer ${layer + 1}, head ${number + 1}`))));
      const before = head.value;
      head.replaceChildren(...options);
      head.value = options.some((option) => option.value === before) ? before : "";
    }

    function drawSource() {
      const word = shown.written[chosen];
      const what = word === "<eos>" ? "when it ended the sentence" : `when it wrote “${word}”`;
      caption.textContent = shown.written.length
        ? `How much it looked at each English word ${what}: its attention weights, which sum to 1.` : "";
      const weights = shown.weights.length ? looks(shown.weights[chosen], head.value) : shown.source.map(() => 0);
      source.replaceChildren(...shown.source.map((word, i) => {
        const chip = html("span", { class: "translator-word" }, html("span", {}, word), html("small", {}, weights[i].toFixed(2)));
        chip.style.setProperty("--weight", weights[i].toFixed(3));
        return chip;
      }));
    }

    function drawHint() {
      const { layer, head: number, words } = busiest(shown.weights);
      hint.textContent = words > 1
        ? `Heads, attentions side by side, differ. Choose layer ${layer + 1}, head ${number + 1}: word by word it moves on, and looks hardest at ${words} of the ${shown.source.length} English words in turn.` : "";
    }

    function choose(place) {
      chosen = place;
      [...written.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === place)));
      drawSource();
    }

    function drawWritten() {
      if (written.children.length > shown.written.length) written.replaceChildren();
      const known = written.children.length; // what stands there stays, and with it the reader's focus
      written.append(...shown.written.slice(known).map((word, place) => {
        const i = known + place;
        const button = html("button", { type: "button", lang: "it", "aria-pressed": String(i === chosen) }, word === "<eos>" ? "end" : word);
        button.addEventListener("click", () => {
          picked = true;
          choose(i);
        });
        return button;
      }));
      [...written.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
      sentence.textContent = joined(shown.written.filter((word) => word !== "<eos>"));
    }

    function nothing(words, why) {
      shown = { source: words, written: [], weights: [] };
      drawWritten();
      drawSource();
      drawHint();
      status.textContent = why;
    }

    async function start() {
      const mine = ++turn;
      try {
        status.textContent = "Fetching the model: some megabytes, once.";
        const loaded = await load();
        if (mine !== turn) return;
        const text = asKnown(input.value, loaded.ids);
        const words = wordsOf(text);
        const unknown = unknownAmong(words, loaded.ids);
        const known = loaded.words.source.length - UNK - 1;
        const missing = `Not in its vocabulary of ${known} words: ${unknown.join(", ")}.`;
        if (!words.length) {
          nothing([], "Type an English sentence.");
          return;
        }
        if (words.every((word) => !loaded.ids.has(word))) {
          nothing([], `${missing} So there is nothing that it could translate: try one of the examples.`);
          return;
        }
        const long = `That is longer than the ${LONGEST} words of the longest sentence that it was trained on: it may lose its way.`;
        status.textContent = unknown.length ? `${missing} It translates around what it does not know.`
          : words.length > LONGEST ? long : words.length === 1 ? SINGLE : "";
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
      } catch (error) {
        if (error.message !== "superseded") status.textContent = `${error.message} Shown is still “${joined(shown.source)}”.`;
      } finally {
        if (mine === turn) el.dataset.finished = String(mine);
      }
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      start();
    });
    input.addEventListener("input", () => {
      status.textContent = "Changed: press Enter, or Translate.";
    });
    head.addEventListener("change", drawSource);
    drawHeads(first.weights[0]);
    drawWritten();
    drawSource();
    drawHint();
    return () => { turn += 1; };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.translator = { render, wordsOf, asKnown, joined, load, translate, looks, busiest };
})();
