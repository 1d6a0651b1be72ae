// Copying a sentence with one vector and with attention: a longer sentence word by word, both copies, and where attention looked.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 640, HEIGHT = 300, LEFT = 78, RIGHT = 14, TOP = 14, BOTTOM = 40; // the plot, in SVG units
  const MAP = 640, MARGIN = 96; // the map of weights, and the room for words beside it and above it
  const START = { seq_len: 6, size: 1, output: 4 };
  const GIVEN = ["words", "sentence", "trained", "sizes", "curves", "vector", "attention"];

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  // additive_attention of solutions/ch03_bottleneck.py for every query; queries and keys have been through w_query and w_key already.
  function attend(queries, keys, v) {
    const scores = queries.map((query) => keys.map((key) => sum(v.map((weight, i) => weight * Math.tanh(query[i] + key[i])))));
    const weights = scores.map((row) => {
      const exponentials = row.map((score) => Math.exp(score - Math.max(...row)));
      const total = sum(exponentials);
      return exponentials.map((number) => number / total);
    });
    return { scores, weights };
  }

  // For the sentence's first `seq_len` words: attention's weights and what it wrote, which words each machine copied right, and the shares
  // of the curves. What is `given` comes from elsewhere.
  function compute({ sentence, curves, vector, attention, seq_len, size }, given) {
    const { queries, keys, v } = attention[size];
    const written = given?.written ?? attention[size].written[seq_len - 1];
    const read = sentence.slice(0, seq_len);
    const right = (copy) => copy.map((word, i) => word === read[i]);
    const spread = (kind) => {
      const shares = curves[kind][size].map((seed) => seed[seq_len - 1]);
      return { mean: sum(shares) / shares.length, low: Math.min(...shares), high: Math.max(...shares) };
    };
    return {
      ...attend(queries[seq_len - 1], keys.slice(0, seq_len), v),
      written,
      right: { vector: right(vector[size].written[seq_len - 1]), attention: right(written) },
      shares: { vector: spread("vector"), attention: spread("attention") },
      ...given,
    };
  }

  const outcome = (model, inputs, given) =>
    compute({ ...Object.fromEntries(GIVEN.map((key) => [key, model.get(key)])), ...inputs }, given);

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function change(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  function draw(parent, tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    change(element, attributes);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function slider(text, settings) {
    const number = html("span", { class: "copying-number", "aria-hidden": "true" }); // the slider says it itself
    const input = html("input", { type: "range", step: 1, ...settings });
    return { number, input, field: html("label", { class: "copying-field" }, html("span", {}, text, " ", number), input) };
  }

  const percent = (share) => `${Math.round(100 * share)}%`;
  const NAMES = { vector: "one vector", attention: "attention" };
  const KINDS = Object.keys(NAMES);

  function render({ model, el }) {
    for (const [key, value] of Object.entries(START)) if (model.get(key) === undefined) model.set(key, value);
    const given = Object.fromEntries(GIVEN.map((key) => [key, model.get(key)]));
    const { words, sentence, trained, sizes, curves } = given;
    const longest = sentence.length;
    const choose = (changes) => {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    };

    const length = slider("Words read", { min: 1, max: longest });
    const size = slider("Numbers in a state", { min: 0, max: sizes.length - 1 });
    const output = slider("Word to look at", { min: 1 });
    const fields = [length, ...(sizes.length > 1 ? [size] : []), output].map(({ field }) => field);
    const controls = html("div", { class: "copying-controls" }, ...fields);

    // The plot: shares against length, a band from the lowest to the highest seed.
    const plot = document.createElementNS(SVG, "svg");
    change(plot, { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "copying-plot" });
    const x = (count) => LEFT + ((count - 1) / (longest - 1)) * (WIDTH - LEFT - RIGHT);
    const y = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    draw(plot, "rect", { x: x(trained + 0.5), y: TOP, width: x(longest) - x(trained + 0.5), height: HEIGHT - TOP - BOTTOM, class: "copying-beyond" });
    for (const share of [0, 0.5, 1]) {
      draw(plot, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share), class: "copying-grid" });
      draw(plot, "text", { x: LEFT - 8, y: y(share) + 6, "text-anchor": "end" }, percent(share));
    }
    for (let tick = 5; tick <= longest; tick += 5) draw(plot, "text", { x: x(tick), y: HEIGHT - 14, "text-anchor": "middle" }, tick);
    draw(plot, "text", { x: LEFT, y: HEIGHT - 14 }, "words");
    const mark = draw(plot, "line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "copying-mark" });
    const lines = Object.fromEntries(KINDS.map((kind) => [kind, {
      band: draw(plot, "path", { class: `copying-band copying-${kind}` }),
      line: draw(plot, "path", { class: `copying-line copying-${kind}` }),
      dot: draw(plot, "circle", { r: 7, class: `copying-dot copying-${kind}` }),
    }]));
    const key = html("span", {}, ...KINDS.flatMap((kind, i) => [i ? " and " : "", html("span", { class: `copying-name copying-${kind}` }, NAMES[kind])]));
    const plotted = html("figure", {}, html("figcaption", {}, "Words copied right, by ", key, "; shaded: longer than in training"), plot);

    // The three sentences.
    const rows = { read: "Read", vector: "One vector wrote", attention: "Attention wrote" };
    const chips = Object.fromEntries(Object.keys(rows).map((row) => [row, html("span", { class: "copying-chips" })]));
    const copies = html("div", { class: "copying-copies" }, ...Object.entries(rows).map(([row, title]) =>
      html("p", {}, html("span", { class: `copying-title copying-name copying-${row}` }, title), " ", chips[row])));

    // The map of attention's weights.
    const map = document.createElementNS(SVG, "svg");
    change(map, { viewBox: `0 0 ${MAP} ${MAP}`, role: "img", class: "copying-map" });
    const mapped = html("figure", {}, html("figcaption", {}, "Attention’s weights: a row for each word written, a column for each word read"), map);
    const verdict = html("p", { class: "copying-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "copying-spoken", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root copying" }, controls, copies, verdict, plotted, mapped, spoken));

    function drawCurves(at) {
      const path = (points) => points.map(([count, share], i) => `${i ? "L" : "M"}${x(count).toFixed(1)} ${y(share).toFixed(1)}`).join("");
      for (const kind of KINDS) {
        const seeds = curves[kind][at];
        const over = (pick) => seeds[0].map((_, i) => [i + 1, pick(seeds.map((seed) => seed[i]))]);
        const low = over((shares) => Math.min(...shares));
        const high = over((shares) => Math.max(...shares));
        lines[kind].band.setAttribute("d", `${path(high)}${path(low.reverse()).replace("M", "L")}Z`);
        lines[kind].line.setAttribute("d", path(over((shares) => sum(shares) / shares.length)));
      }
    }

    function drawChips(now, result, chosen) {
      const read = sentence.slice(0, now.seq_len).map((id) => words[id]);
      chips.read.replaceChildren(...read.flatMap((word, i) => [html("span", { class: i === chosen ? "copying-chosen" : "" }, word), " "]));
      for (const kind of KINDS) {
        const written = kind === "attention" ? result.written : given[kind][now.size].written[now.seq_len - 1];
        chips[kind].replaceChildren(...written.flatMap((id, i) => {
          const fine = result.right[kind][i];
          const name = `${fine ? "" : "copying-wrong"} ${i === chosen ? "copying-chosen" : ""}`;
          return [html(fine ? "span" : "s", { class: name }, words[id]), " "];
        }));
      }
      return read;
    }

    function drawMap(now, result, chosen, read) {
      map.replaceChildren();
      const cell = (MAP - MARGIN) / now.seq_len;
      const font = Math.min(24, 0.78 * cell);
      const { written } = result;
      read.forEach((word, i) => {
        const middle = MARGIN + (i + 0.5) * cell;
        const name = (fine) => `copying-word${i === chosen ? " copying-chosen" : ""}${fine ? "" : " copying-wrong"}`;
        draw(map, "text", { x: MARGIN - 8, y: middle + font / 3, "text-anchor": "end", "font-size": font, class: name(result.right.attention[i]) }, words[written[i]]);
        draw(map, "text", { "font-size": font, class: "copying-word", transform: `translate(${middle + font / 3} ${MARGIN - 8}) rotate(-90)` }, word);
      });
      result.weights.forEach((row, i) => row.forEach((weight, j) =>
        draw(map, "rect", { x: MARGIN + j * cell, y: MARGIN + i * cell, width: cell, height: cell, class: "copying-cell", "fill-opacity": weight.toFixed(3) })));
      draw(map, "rect", { x: MARGIN, y: MARGIN, width: MAP - MARGIN - 1, height: MAP - MARGIN - 1, class: "copying-frame" });
      draw(map, "rect", { x: MARGIN, y: MARGIN + chosen * cell, width: MAP - MARGIN - 1, height: cell, class: "copying-row" });
    }

    let timer;
    function update() {
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const set = Object.fromEntries(Object.keys(START).map((name) => [name, model.get(name)]));
      const now = answer?.inputs ?? set;
      const result = outcome(model, now, answer?.numbers);
      const chosen = Math.min(now.output, now.seq_len) - 1;
      drawCurves(now.size);
      change(mark, { x1: x(now.seq_len), x2: x(now.seq_len) });
      for (const kind of KINDS) change(lines[kind].dot, { cx: x(now.seq_len), cy: y(result.shares[kind].mean) });
      const read = drawChips(now, result, chosen);
      drawMap(now, result, chosen, read);

      const lookedAt = Math.min(set.output, set.seq_len);
      length.input.value = length.number.textContent = set.seq_len;
      size.input.value = set.size;
      size.number.textContent = sizes[set.size];
      size.input.setAttribute("aria-valuetext", `${sizes[set.size]} numbers`);
      output.input.max = set.seq_len;
      output.input.value = output.number.textContent = lookedAt;
      output.input.setAttribute("aria-valuetext", `word ${lookedAt} of ${set.seq_len}`);

      const row = result.weights[chosen];
      const best = row.indexOf(Math.max(...row));
      const count = (kind) => result.right[kind].filter(Boolean).length;
      const copied = `Of ${now.seq_len} ${now.seq_len === 1 ? "word" : "words"}, one vector copies ${count("vector")} and attention ${count("attention")}.`;
      const usual = `On random sentences of this length${answer ? ", with the book’s attention" : ""}: ${percent(result.shares.vector.mean)} and ${percent(result.shares.attention.mean)}.`;
      const looked = `Writing word ${chosen + 1}, attention looks most at word ${best + 1}, “${read[best]}”, with ${percent(row[best])} of the weight.`;
      verdict.textContent = `${copied} ${usual} ${looked}`;
      plot.setAttribute("aria-label", `Shares of words copied right against length, marked at ${now.seq_len}. ${usual}`);
      map.setAttribute("aria-label", `Map of attention’s weights over ${now.seq_len} words. ${looked}`);
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = `${copied} ${usual} ${looked}`; }, 400);
    }

    length.input.addEventListener("input", () => choose({ seq_len: Number(length.input.value) }));
    size.input.addEventListener("input", () => choose({ size: Number(size.input.value) }));
    output.input.addEventListener("input", () => choose({ output: Number(output.input.value) }));
    const events = [...Object.keys(START), "computed"].map((name) => `change:${name}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      clearTimeout(timer);
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.copying = { render, compute, outcome };
})();
