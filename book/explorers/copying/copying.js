// Copying a sentence with one vector and with attention, after a short training and after longer
// ones: a longer sentence word by word, both copies, and where attention looked. Pointing at a word
// that attention wrote, or at its row of the map, shows where it looked for that word.
(() => {
  const { change, html, draw, svg, figure, path, level, slider, button, sum, largestAt, softmax, counted,
    mount } = globalThis.explorerKit;
  // of the plot, in SVG units
  const WIDTH = 640, HEIGHT = 300, LEFT = 78, RIGHT = 14, TOP = 14, BOTTOM = 40;
  const MAP = 640, MARGIN = 96; // the map of weights, and the room for words beside it and above it
  const GIVEN = ["words", "sentences", "trained", "sizes", "budgets", "curves", "vector",
    "attention", "attention_size"];
  const NAMES = { vector: "one vector", attention: "attention" };
  const KINDS = Object.keys(NAMES);
  const start = { sentence: 0, seq_len: 6, size: 1, budget: 0, output: 4 };

  // Which of the machines: those with one vector are listed with all sizes of the first budget, then
  // all of the next; those with attention have one size. Each holds a replay for each sentence. A
  // notebook has one budget and one sentence, and does not name them.
  const machineAt = ({ sizes, size, budget = 0 }) =>
    ({ vector: budget * sizes.length + size, attention: budget });

  // additive_attention of solutions/ch03_bottleneck.py for every query; queries and keys are already
  // multiplied by w_query and w_key.
  function attend(queries, keys, v) {
    const score = (query, key) => sum(v.map((weight, i) => weight * Math.tanh(query[i] + key[i])));
    const scores = queries.map((query) => keys.map((key) => score(query, key)));
    return { scores, weights: scores.map(softmax) };
  }

  // For a sentence's first `seq_len` words: attention's weights and what it wrote, which words
  // each machine copied right, and the shares of the curves. What is `given` comes from elsewhere.
  function compute({ sentences, curves, vector, attention, seq_len, sentence = 0, ...chosen },
    given) {
    const at = machineAt(chosen);
    const { queries, keys, v, written: copies } = attention[at.attention][sentence];
    const written = given?.written ?? copies[seq_len - 1];
    const read = sentences[sentence].slice(0, seq_len);
    const right = (copy) => copy.map((word, i) => word === read[i]);
    const spread = (kind) => {
      const shares = curves[kind][at[kind]].map((seed) => seed[seq_len - 1]);
      const [low, high] = [Math.min(...shares), Math.max(...shares)];
      return { mean: sum(shares) / shares.length, low, high };
    };
    return {
      ...attend(queries[seq_len - 1], keys.slice(0, seq_len), v),
      written,
      right: { vector: right(vector[at.vector][sentence].written[seq_len - 1]), attention: right(written) },
      shares: { vector: spread("vector"), attention: spread("attention") },
      ...given,
    };
  }

  const givenOf = (model) => Object.fromEntries(GIVEN.map((key) => [key, model.get(key)]));
  const outcome = (model, inputs, given) => compute({ ...givenOf(model), ...inputs }, given);

  const percent = (share) => `${Math.round(100 * share)}%`;

  // The shares against the length: for each machine a line, and a band from the lowest to the
  // highest seed.
  function sharesPlot({ sentences: [{ length: longest }], trained, sizes, curves }) {
    const drawing = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const x = (count) => LEFT + ((count - 1) / (longest - 1)) * (WIDTH - LEFT - RIGHT);
    const y = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    const beyond = x(trained + 0.5);
    draw(drawing, "rect", { x: beyond, y: TOP, width: x(longest) - beyond,
      height: HEIGHT - TOP - BOTTOM, class: "copying-beyond" });
    for (const share of [0, 0.5, 1])
      level(drawing, { from: LEFT, to: WIDTH - RIGHT, at: y(share) }, percent(share));
    const below = { y: HEIGHT - 14 };
    for (let tick = 5; tick <= longest; tick += 5)
      draw(drawing, "text", { x: x(tick), ...below, "text-anchor": "middle" }, tick);
    draw(drawing, "text", { x: LEFT, ...below }, "words");
    const mark = draw(drawing, "line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "copying-mark" });
    const lines = Object.fromEntries(KINDS.map((kind) => [kind, {
      band: draw(drawing, "path", { class: `copying-band copying-${kind}` }),
      line: draw(drawing, "path", { class: `explorer-line copying-line copying-${kind}` }),
      dot: draw(drawing, "circle", { r: 7, class: `explorer-dot copying-dot copying-${kind}` }),
    }]));
    const names = KINDS.map((kind) =>
      html("span", { class: `copying-name copying-${kind}` }, NAMES[kind]));
    const caption = ["Words copied right, by ", names[0], " and ", names[1],
      "; shaded: longer than in training"];

    function show(now, shares) {
      change(mark, { x1: x(now.seq_len), x2: x(now.seq_len) });
      for (const kind of KINDS) {
        const { band, line, dot } = lines[kind];
        const seeds = curves[kind][machineAt({ ...now, sizes })[kind]];
        const over = (pick) =>
          seeds[0].map((_, i) => [x(i + 1), y(pick(seeds.map((seed) => seed[i])))]);
        const edge = [...over((some) => Math.max(...some)),
          ...over((some) => Math.min(...some)).reverse()];
        change(band, { d: `${path(edge)}Z` });
        change(line, { d: path(over((some) => sum(some) / some.length)) });
        change(dot, { cx: x(now.seq_len), cy: y(shares[kind].mean) });
      }
    }
    return { drawing, framed: figure(caption, drawing), show };
  }

  // Calls `point` with what `placeOf` says of the element that the pointer is on or presses.
  function pointed(element, placeOf, point) {
    const act = (event) => {
      const place = placeOf(event.target);
      if (place >= 0) point(place);
    };
    element.addEventListener("pointerover", act);
    element.addEventListener("click", act);
  }

  // The three sentences: what was read, tinted by the weights, and both copies.
  function copiesOf({ words, sentences, sizes, vector }, point) {
    const rows = { read: "Read", vector: "One vector wrote", attention: "Attention wrote" };
    const chips = Object.fromEntries(Object.keys(rows).map((row) =>
      [row, html("span", { class: "copying-chips" })]));
    const lines = Object.entries(rows).map(([row, title]) =>
      html("p", {},
        html("span", { class: `copying-title copying-name copying-${row}` }, title), " ",
        chips[row]));
    pointed(chips.attention, (target) => [...chips.attention.children].indexOf(target), point);
    function show(now, result, chosen) {
      const fill = (row, ids, fine) => chips[row].replaceChildren(...ids.flatMap((id, i) => {
        const name = `${fine[i] ? "" : "copying-wrong"} ${i === chosen ? "copying-chosen" : ""}`;
        return [html(fine[i] ? "span" : "s", { class: name }, words[id]), " "];
      }));
      const read = sentences[now.sentence].slice(0, now.seq_len);
      chips.read.replaceChildren(...read.flatMap((id, i) => {
        const share = `--share: ${result.weights[chosen][i].toFixed(3)}`;
        return [html("span", { style: share }, words[id]), " "];
      }));
      const { written } = vector[machineAt({ ...now, sizes }).vector][now.sentence];
      fill("vector", written[now.seq_len - 1], result.right.vector);
      fill("attention", result.written, result.right.attention);
    }
    return { element: html("div", { class: "copying-copies explorer-result" }, ...lines), show };
  }

  function weightsMap({ words, sentences }, point) {
    const drawing = svg(MAP, MAP, { class: "copying-map" });
    pointed(drawing, (target) => Number(target.dataset.row ?? -1), point);
    const caption = "Attention’s weights: a row for each word written, a column for each word read";
    function show(now, { weights, written, right }, chosen) {
      drawing.replaceChildren();
      const side = MAP - MARGIN;
      const cell = side / now.seq_len;
      const font = { "font-size": Math.min(24, 0.78 * cell) };
      const drop = font["font-size"] / 3; // from the middle of a word to its base line
      sentences[now.sentence].slice(0, now.seq_len).forEach((id, i) => {
        const middle = MARGIN + (i + 0.5) * cell;
        const wrong = right.attention[i] ? "" : " copying-wrong";
        const kind = `copying-word${i === chosen ? " copying-chosen" : ""}${wrong}`;
        const beside = { x: MARGIN - 8, y: middle + drop, "text-anchor": "end" };
        const word = { ...beside, ...font, class: kind, "data-row": i };
        draw(drawing, "text", word, words[written[i]]);
        const above = `translate(${middle + drop} ${MARGIN - 8}) rotate(-90)`;
        draw(drawing, "text", { ...font, class: "copying-word", transform: above }, words[id]);
      });
      weights.forEach((row, i) => row.forEach((weight, j) => {
        const place = { x: MARGIN + j * cell, y: MARGIN + i * cell, width: cell, height: cell };
        draw(drawing, "rect",
          { ...place, class: "copying-cell", "fill-opacity": weight.toFixed(3), "data-row": i });
      }));
      const frame = { x: MARGIN, width: side - 1 };
      draw(drawing, "rect", { ...frame, y: MARGIN, height: side - 1, class: "copying-frame" });
      const row = { ...frame, y: MARGIN + chosen * cell, height: cell, class: "copying-row" };
      draw(drawing, "rect", row);
    }
    return { drawing, framed: figure(caption, drawing), show };
  }

  function build({ model, choose, verdict, say }) {
    const given = givenOf(model);
    const { words, sentences, sizes, budgets = [], attention_size } = given;
    const looking = attention_size ? `attention with ${attention_size} numbers` : "attention";
    const length = slider("Words read", { min: 1, max: sentences[0].length }, (value) =>
      choose({ seq_len: value }));
    const size = slider("Numbers in the one vector", { min: 0, max: sizes.length - 1 }, (value) =>
      choose({ size: value }));
    const budget = slider("Steps of training", { min: 0, max: budgets.length - 1 }, (value) =>
      choose({ budget: value }));
    const output = slider("Word to look at", { min: 1 }, (value) => choose({ output: value }));
    const several = [...(sizes.length > 1 ? [size] : []), ...(budgets.length > 1 ? [budget] : [])];
    const another = button("Another sentence", () =>
      choose({ sentence: (model.get("sentence") + 1) % sentences.length }));
    const fields = [length, ...several, output].map(({ field }) => field);
    if (sentences.length > 1) fields.push(another);
    const controls = html("div", { class: "explorer-controls" }, ...fields);
    // The pointer meets words anew whenever they are drawn again.
    const point = (place) => { if (place + 1 !== model.get("output")) choose({ output: place + 1 }); };
    const plot = sharesPlot(given);
    const copies = copiesOf(given, point);
    const map = weightsMap(given, point);

    const stepsOf = (now) => budgets[now.budget].toLocaleString("en");

    function showControls(now) {
      length.show(now.seq_len);
      size.show(now.size, sizes[now.size], `${sizes[now.size]} numbers`);
      if (budgets.length > 1)
        budget.show(now.budget, stepsOf(now), `${stepsOf(now)} steps`);
      const lookedAt = Math.min(now.output, now.seq_len);
      output.input.max = now.seq_len;
      output.show(lookedAt, lookedAt, `word ${lookedAt} of ${now.seq_len}`);
    }

    function update(set, answer) {
      const now = { sentence: 0, ...(answer?.inputs ?? set) };
      const result = outcome(model, now, answer?.numbers);
      const chosen = Math.min(now.output, now.seq_len) - 1;
      plot.show(now, result.shares);
      copies.show(now, result, chosen);
      map.show(now, result, chosen);
      showControls(set);

      const row = result.weights[chosen];
      const best = largestAt(row);
      const right = (kind) => result.right[kind].filter(Boolean).length;
      const each = `one vector copies ${right("vector")}, and ${looking} ${right("attention")}`;
      const copied = `Of ${counted(now.seq_len, "word")}, ${each}.`;
      const whose = answer ? ", with the book’s attention" : "";
      const [one, other] = KINDS.map((kind) => percent(result.shares[kind].mean));
      const after = budgets.length > 1 ? `, after ${stepsOf(now)} steps` : "";
      const usual = `On random sentences of this length${after}${whose}, they get ${one} and ` +
        `${other} right.`;
      const looked = `To write word ${chosen + 1}, attention looks most at word ${best + 1}, ` +
        `“${words[sentences[now.sentence][best]]}”, with ${percent(row[best])} of the weight.`;
      say(`${copied} ${usual} ${looked}`);
      const marked = `Shares of words copied right against length, marked at ${now.seq_len}.`;
      change(plot.drawing, { "aria-label": `${marked} ${usual}` });
      const mapped = `Map of attention’s weights over ${now.seq_len} words.`;
      change(map.drawing, { "aria-label": `${mapped} ${looked}` });
    }
    return { update, children: [controls, copies.element, verdict, plot.framed, map.framed] };
  }

  mount("copying", { start, compute, outcome, build });
})();
