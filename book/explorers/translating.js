// The trained translator in a page: what a sentence's words are, the model, and greedy decoding by
// two ONNX graphs (solutions/translator/export_onnx.py makes them). It comes before the explorers
// that run it, once for a page.
globalThis.translating ??= (() => {
  const { html, button, sum } = globalThis.explorerKit;
  const { open, once } = globalThis.running;
  const [BOS, EOS, UNK] = [1, 2, 3];
  const LONGEST = 12; // words of the longest sentence that it was trained on
  const SINGLE =
    "It was trained on whole sentences and has never seen a single word, so this is a guess.";
  const GUESSES = "It guesses there.";
  const FETCHING = "Fetching the model: about 20 megabytes, once.";
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

  // A probability as people read it.
  const percent = (share) => (share < 0.0005 ? "< 0.1 %" : share >= 0.9995 ? "> 99.9 %"
    : `${(100 * share).toFixed(1)} %`);

  // A word in quotes, and where it is there more than once, which of them.
  const ORDINALS = ["first", "second", "third", "fourth", "fifth"];
  function which(words, place) {
    const before = words.slice(0, place).filter((word) => word === words[place]).length;
    const alone = !before && !words.includes(words[place], place + 1);
    return [alone ? "" : `the ${ORDINALS[before] ?? `${before + 1}th`} `, `“${words[place]}”`];
  }

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

  // one model for all explorers of a page
  const load = once(async () => {
    const { ort, about: words, graph } = await open("translator-model/", "words.json");
    const start = await graph("start.onnx");
    const step = await graph("step.onnx");
    return { ort, words, start, step, ids: new Map(words.source.map((word, id) => [word, id])) };
  });

  const idsOf = (words, { ids }) => words.map((word) => ids.get(word) ?? UNK);

  // A gate of 1 for each head, layers × heads, by what the head belongs to.
  function gatesOf({ num_heads: heads, num_encoder_layers: encoder, num_decoder_layers: decoder }) {
    const open = (layers) => Array.from({ length: layers }, () => Array(heads).fill(1));
    return { encoder: open(encoder), self: open(decoder), cross: open(decoder) };
  }

  // Translates ids, word by word. Each step has the word's id, its weights, layers × heads × source
  // words, the logits of its place, the likeliest ids, each with its probability, and the positions
  // that the decoder computed for it: one, or without the cache all that there are. What is `forced`
  // is written instead of the likeliest.
  async function* writing(model, source, { cached = true, gates, forced } = {}) {
    const { ort, start, step, words: { factor, extra, shape } } = model;
    const row = (ids) => new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]);
    const gate = (rows) => new ort.Tensor("float32", Float32Array.from(rows.flat()),
      [rows.length, shape.num_heads]);
    const open = gates ?? gatesOf(shape);
    const memory = await start.run({ src: row(source), gates: gate(open.encoder) });
    const fixed = { ...memory, self_gates: gate(open.self), cross_gates: gate(open.cross) };
    const [layers, heads, , width] = memory.memory_keys.dims;
    const none = () => new ort.Tensor("float32", new Float32Array(0), [layers, heads, 0, width]);
    let before = { keys: none(), values: none() }; // of all words but the last one
    const written = [BOS];
    const most = Math.floor(factor * source.length) + extra;
    while (written.at(-1) !== EOS && written.length < most) {
      const tgt = written.slice(before.keys.dims[2]);
      const found = await step.run({ tgt: row(tgt), ...before, ...fixed });
      if (cached) before = { keys: found.longer_keys, values: found.longer_values };
      const logits = found.logits.data;
      const likely = likeliest(logits);
      const id = forced ? forced[written.length - 1] : likely[0][0];
      written.push(id);
      yield { id, logits, likely, weights: nested(found.weights), positions: tgt.length };
    }
  }

  // The likeliest ids of a row of logits, each with its probability.
  function likeliest(logits, count = 5) {
    const ids = Array.from(logits.keys()).sort((one, other) => logits[other] - logits[one]);
    const most = logits[ids[0]];
    const whole = sum(Array.from(logits, (each) => Math.exp(each - most)));
    return ids.slice(0, count).map((id) => [id, Math.exp(logits[id] - most) / whole]);
  }

  // All steps of a translation.
  async function translate(model, source, options) {
    const steps = [];
    for await (const step of writing(model, source, options)) steps.push(step);
    return steps;
  }

  // A tensor of three axes as lists.
  function nested({ data, dims: [layers, heads, length] }) {
    const of = (head) => Array.from(data.subarray(head * length, (head + 1) * length));
    return Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: heads }, (_, head) => of(layer * heads + head)));
  }

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
    const guesses = unknown.length ? `${missing} ${GUESSES}` : "";
    const long = words.length > LONGEST ? "That is longer than the " +
      `${LONGEST} words of the longest sentence that it was trained on: it may lose its way.` : "";
    const single = words.length === 1 ? SINGLE : "";
    return { text: [guesses, long, single].filter(Boolean).join(" ") };
  }

  // What asks for a sentence: a field, examples, and a status that says what is going on.
  //   write(model, words, check): translates words that it can translate; `check` throws where a
  //     newer sentence has taken over.
  //   refuse(): hears of a sentence of which nothing can be translated.
  //   still(): the sentence that stays where something went wrong.
  //   recorded: translations that came with the page, for which no model is fetched, and
  //   replay(translation, check), which shows one, or returns false where it takes the model;
  //   bare: what can be had without the model.
  function asking({ el, value, examples, write, refuse, still, recorded = [], replay,
    bare = "The examples need no model." }) {
    let turn = 0;
    const typing = { type: "text", maxlength: "300", autocomplete: "off", spellcheck: "false" };
    const input = html("input", { ...typing, class: "explorer-button", lang: "en",
      oninput() { status.textContent = "Changed: press Enter, or Translate."; } });
    input.value = value;
    const onsubmit = (event) => {
      event.preventDefault();
      start();
    };
    const form = html("form", { class: "translator-form", onsubmit },
      html("label", { class: "translator-label" }, html("span", {}, "English"), input),
      html("button", { type: "submit", class: "explorer-button translator-go" }, "Translate"));
    const buttons = examples.map((text) => button(text, () => {
      input.value = text;
      start();
    }, "translator-example"));
    const offered = html("p", { class: "translator-examples" }, html("span", {}, "Try: "),
      ...buttons);
    const status = html("p", { class: "translator-status", role: "status" });

    async function start() {
      const mine = ++turn;
      const check = () => { if (mine !== turn) throw new Error("superseded"); };
      try {
        const asked = input.value.trim();
        const known = recorded.find(({ source }) => joined(source) === asked);
        if (known) {
          const { unknown } = known;
          status.textContent = unknown.length
            ? `Not in its vocabulary: ${unknown.join(", ")}. ${GUESSES}` : "";
          if (await replay(known, check) !== false) return;
        }
        status.textContent = FETCHING;
        const loaded = await load();
        check();
        const words = wordsOf(asKnown(input.value, loaded.ids));
        const { text, hopeless } = remark(words, loaded);
        if (hopeless) refuse();
        status.textContent = text;
        if (!hopeless) await write(loaded, words, check);
      } catch (error) {
        if (error.message !== "superseded")
          status.textContent = `${error.message} Shown is still “${still()}”.` +
            (recorded.length ? ` ${bare}` : "");
      } finally {
        if (mine === turn) el.dataset.finished = String(mine);
      }
    }

    return { form, offered, status, start, stop: () => { turn += 1; } };
  }

  // Milliseconds between words, where motion is welcome.
  const PAUSE = 140;
  const pause = () => !matchMedia("(prefers-reduced-motion: reduce)").matches &&
    new Promise((resume) => setTimeout(resume, PAUSE));

  return { load, writing, translate, gatesOf, idsOf, wordsOf, asKnown, joined, isWord, percent,
    which, asking, pause, UNK };
})();
