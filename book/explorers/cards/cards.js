// What a large model needs to write, before it is run (ch11): memory of weights and caches, cards
// that hold it, and the time of a step, for a batch, a length and a number of heads of keys. The
// arithmetic is the page's own. The model and the card come with the state: bytes of all weights,
// layers, heads, head_dim; and memory, bandwidth and peak, in bytes and FLOPs a second.
(() => {
  const { html, slider, picker, counted, mount } = globalThis.explorerKit;
  const start = { batch: 3, length: 6, heads: 0 };
  const LENGTHS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];
  const HEADS = [64, 8, 1];
  const WIDEST = 7; // as a power of two: texts in the largest batch

  function compute({ model, card, batch, length, heads }) {
    const texts = 2 ** batch, words = LENGTHS[length], kvHeads = HEADS[heads];
    const { weights, layers, heads: queryHeads, head_dim: features } = model;
    const caches = 2 * 2 * texts * kvHeads * features * layers * words; // keys and values
    const bytes = weights + caches, cards = Math.ceil(bytes / card.memory);
    const step = bytes / (cards * card.bandwidth);
    // 2 FLOPs for the 2 bytes of a weight, and half of 4 n² d under a causal mask
    const flops = weights * words + 2 * layers * queryHeads * features * words ** 2;
    return { texts, words, kvHeads, weights, caches, bytes, cards, step,
      perCard: texts / step / cards, reading: flops / card.peak };
  }

  const grouped = (number) => number.toLocaleString("en");
  const digits = (number) => (number >= 100 ? grouped(Math.round(number)) : number.toFixed(1));
  const inGB = (bytes) => `${digits(bytes / 1e9)} GB`;
  const inTime = (seconds) => (seconds < 1 ? `${digits(1000 * seconds)} ms`
    : seconds < 120 ? `${digits(seconds)} s` : `${digits(seconds / 60)} minutes`);

  function build({ model, choose, verdict, say }) {
    const given = { model: model.get("model"), card: model.get("card") };
    const batch = slider("Texts in a batch", { min: 0, max: WIDEST },
      (value) => choose({ batch: value }));
    const length = slider("Words in each text", { min: 0, max: LENGTHS.length - 1 },
      (value) => choose({ length: value }));
    const heads = picker("Heads of keys and values", HEADS.map((count) => `${count}`),
      (value) => choose({ heads: value }));
    const controls = html("div", { class: "explorer-controls" }, batch.field, length.field,
      heads.field);

    const parts = ["weights", "caches"];
    const bars = parts.map((name) => html("span", { class: `explorer-part cards-${name}` }));
    const cell = () => html("td");
    const rows = {};
    const row = (name, ...key) => {
      rows[name] = cell();
      return html("tr", {}, html("th", { scope: "row" }, ...key, name), rows[name]);
    };
    const body = html("tbody", {},
      ...parts.map((name) => row(name,
        html("span", { class: `explorer-key cards-${name}`, "aria-hidden": "true" }), " ")),
      ...["cards", "a step, in which each text gets a word", "words a second, per card",
        "reading a text, in seconds of one card"].map((name) => row(name)));
    const caption = html("figcaption");
    const result = html("figure", { class: "explorer-result" }, caption,
      html("div", { class: "explorer-stack", "aria-hidden": "true" }, ...bars),
      html("table", { class: "explorer-sizes" }, body));

    function update(now) {
      const found = compute({ ...given, ...now });
      const texts = counted(found.texts, "text"), words = `${grouped(found.words)} words`;
      batch.show(now.batch, found.texts, texts);
      length.show(now.length, grouped(found.words), words);
      heads.input.value = now.heads;
      const room = found.cards * given.card.memory;
      parts.forEach((name, i) => {
        bars[i].style.width = `${(100 * found[name]) / room}%`;
        rows[name].textContent = inGB(found[name]);
      });
      const cards = `${grouped(found.cards)} cards`; // the weights alone fill two
      caption.textContent = `Memory: ${inGB(found.bytes)} of ${inGB(room)}`;
      [grouped(found.cards), inTime(found.step), digits(found.perCard), digits(found.reading)]
        .forEach((text, i) => { Object.values(rows)[i + parts.length].textContent = text; });
      say(`${texts} of ${words}, ${counted(found.kvHeads, "head")} of keys: ${inGB(found.bytes)},
        ${cards}, ${inTime(found.step)} a step. Each card writes ${digits(found.perCard)} words a
        second.`.replace(/\s+/g, " "));
    }
    return { update, children: [controls, verdict, result] };
  }

  mount("cards", { start, compute, build });
})();
