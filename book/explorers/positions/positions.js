// The sinusoidal encoding as a row of clocks: two positions, a fixed offset apart, their hands pair
// by pair, and how alike they are.
(() => {
  const { change, html, draw, svg, figure, path, level, slider, sum, shown, mount } =
    globalThis.explorerKit;
  const FARTHEST = 64; // largest offset of the slider and of the curve
  const LAST = 128; // largest position of the slider
  const DIALS = 8; // clocks that are shown; of more pairs, as many spread evenly over them
  const start = { position: 5, offset: 3, d_model: 64, dial: 1 };
  // of a plot, in SVG units
  const WIDTH = 640, HEIGHT = 170, LEFT = 34, RIGHT = 12, TOP = 10, BOTTOM = 30;

  // The arithmetic of solutions/ch02_positional_encoding.py for two positions. Similarity is the
  // dot product of their encodings divided by d_model / 2, which is the dot product of an encoding
  // with itself. What is `given` comes from elsewhere.
  function compute({ position, offset, d_model }, given = {}) {
    const pairs = Array.from({ length: d_model / 2 }, (_, pair) => pair);
    const rates = pairs.map((pair) => 10000 ** ((-2 * pair) / d_model));
    const encode = (at) => rates.flatMap((rate) => [Math.sin(at * rate), Math.cos(at * rate)]);
    const first = given.first ?? encode(position);
    const second = given.second ?? encode(position + offset);
    const alike = (away) => sum(rates.map((rate) => Math.cos(away * rate))) / rates.length;
    const offsets = Array.from({ length: 2 * FARTHEST + 1 }, (_, i) => i - FARTHEST);
    return {
      rates,
      wavelengths: rates.map((rate) => (2 * Math.PI) / rate),
      first,
      second,
      similarity: sum(first.map((number, column) => number * second[column])) / rates.length,
      curve: given.curve ?? offsets.map(alike),
    };
  }

  const outcome = (model, inputs, given) => compute(inputs, given);

  // Which pairs have a clock: all of them, or eight from the fastest to the slowest.
  function shownPairs(d_model) {
    const count = Math.min(DIALS, d_model / 2);
    const spread = (i) => Math.round((i * (d_model / 2 - 1)) / (count - 1));
    return Array.from({ length: count }, (_, i) => spread(i));
  }

  function sized(number) {
    if (number >= 1000) return Math.round(number).toLocaleString("en");
    return number.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  }

  // A plot with a horizontal axis of whole numbers and a vertical one from -1 to 1.
  function plot(caption, low, high, ticks, axis) {
    const drawing = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const x = (value) => LEFT + ((value - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
    const y = (value) => TOP + ((1 - value) / 2) * (HEIGHT - TOP - BOTTOM);
    for (const value of [-1, 0, 1])
      level(drawing, { from: LEFT, to: WIDTH - RIGHT, at: y(value) }, shown(value, 0));
    const below = { y: HEIGHT - 8 };
    for (const tick of ticks)
      draw(drawing, "text", { x: x(tick), ...below, "text-anchor": "middle" }, shown(tick, 0));
    draw(drawing, "text", { x: WIDTH - RIGHT, ...below, "text-anchor": "end" }, axis);
    const curve = (values, from, step) =>
      path(values.map((value, i) => [x(from + i * step), y(value)]));
    const heading = html("span", {}, caption);
    return { drawing, x, y, curve, heading, framed: figure(heading, drawing) };
  }

  // One clock for each pair. Both hands start at twelve, because sine 0 and cosine 1 point straight
  // up.
  function clockOf(number) {
    const drawing = svg(100, 100, { viewBox: "-50 -50 100 100" });
    draw(drawing, "circle", { r: 44, class: "positions-rim" });
    for (let hour = 0; hour < 12; hour += 1) {
      const place = { x1: 0, x2: 0, y1: -44, y2: -39, transform: `rotate(${30 * hour})` };
      draw(drawing, "line", { ...place, class: "positions-hour" });
    }
    const [second, first] = ["second", "first"].map((name) =>
      draw(drawing, "line", { x1: 0, y1: 0, class: `positions-hand positions-${name}` }));
    draw(drawing, "circle", { r: 4, class: "positions-hub" });
    const name = html("span", {}, `pair ${number}`);
    const face = html("div", { class: "positions-clock" }, drawing, name);
    return { number, first, second, face };
  }

  function build({ model, choose, verdict, say }) {
    const position = slider("Position", { min: 0, max: LAST }, (value) =>
      choose({ position: value }));
    const offset = slider("Offset", { min: 0, max: FARTHEST }, (value) =>
      choose({ offset: value }));
    const width = slider("Columns, d_model", { min: 2, max: 9 }, (power) =>
      choose({ d_model: 2 ** power }));
    const pair = slider("Pair", { min: 0 }, (value) => choose({ dial: value }));
    const controls = html("div", { class: "explorer-controls" },
      position.field, offset.field, width.field, pair.field);

    const hidden = { "aria-hidden": "true" };
    const clocks = html("div", { class: "positions-clocks explorer-result", ...hidden });
    const key = html("p", { class: "positions-key explorer-result", ...hidden });
    const wave = plot("", 0, LAST + FARTHEST, [0, 32, 64, 96, 128], `position ${LAST + FARTHEST}`);
    const lines = ["sine", "cosine"].map((name) =>
      draw(wave.drawing, "path", { class: `explorer-line positions-${name}` }));
    const marks = ["first", "second"].map((name) => ({
      line: draw(wave.drawing, "line",
        { class: `positions-mark positions-${name}`, y1: TOP, y2: HEIGHT - BOTTOM }),
      dots: [0, 1].map(() =>
        draw(wave.drawing, "circle", { r: 6, class: `explorer-dot positions-${name}` })),
    }));
    const alike = plot("Similarity against offset, all pairs together",
      -FARTHEST, FARTHEST, [-64, -32, 0, 32], "offset");
    const curve = draw(alike.drawing, "path", { class: "explorer-line positions-curve" });
    const here = [-1, 1].map(() =>
      draw(alike.drawing, "circle", { r: 7, class: "explorer-dot positions-second" }));

    let faces = [];
    function drawClocks(pairs, result, chosen) {
      if (faces.map(({ number }) => number).join() !== pairs.join()) {
        faces = pairs.map(clockOf);
        clocks.replaceChildren(...faces.map(({ face }) => face));
      }
      faces.forEach(({ number, first, second, face }) => {
        const tip = (numbers, long) =>
          ({ x2: long * numbers[2 * number], y2: -long * numbers[2 * number + 1] });
        change(first, tip(result.first, 27));
        change(second, tip(result.second, 38));
        face.classList.toggle("positions-chosen", number === chosen);
      });
    }

    function drawWave(asked, result, chosen, columns) {
      const rate = result.rates[chosen];
      const quarters = Array.from({ length: 4 * (LAST + FARTHEST) + 1 }, (_, i) => i / 4);
      lines.forEach((line, i) => {
        // a learner's numbers are of whole positions, while a formula has places between them
        const formula = () => quarters.map((place) => [Math.sin, Math.cos][i](place * rate));
        const d = columns ? wave.curve(columns[i], 0, 1) : wave.curve(formula(), 0, 0.25);
        change(line, { d });
      });
      [asked.position, asked.position + asked.offset].forEach((place, i) => {
        change(marks[i].line, { x1: wave.x(place), x2: wave.x(place) });
        const numbers = [result.first, result.second][i];
        marks[i].dots.forEach((dot, side) =>
          change(dot, { cx: wave.x(place), cy: wave.y(numbers[2 * chosen + side]) }));
      });
    }

    function showControls(now) {
      position.show(now.position);
      offset.show(now.offset);
      width.show(Math.log2(now.d_model), now.d_model, `${now.d_model} columns`);
      const pairs = shownPairs(now.d_model);
      const dial = Math.min(now.dial, pairs.length - 1);
      const turned = pairs[dial];
      pair.input.max = pairs.length - 1;
      pair.show(dial, turned, `pair ${turned}, columns ${2 * turned} and ${2 * turned + 1}`);
    }

    const named = (name, text) => html("span", { class: `positions-name positions-${name}` }, text);

    function update(now, answer) {
      const asked = answer?.inputs ?? now;
      const pairs = shownPairs(asked.d_model);
      const chosen = pairs[Math.min(asked.dial, pairs.length - 1)];
      const result = outcome(model, asked, answer?.numbers);
      const other = asked.position + asked.offset;
      drawClocks(pairs, result, chosen);
      drawWave(asked, result, chosen, answer?.numbers?.wave);
      change(curve, { d: alike.curve(result.curve, -FARTHEST, 1) });
      here.forEach((dot, i) =>
        change(dot, { cx: alike.x((2 * i - 1) * asked.offset), cy: alike.y(result.similarity) }));
      showControls(now);

      key.replaceChildren(named("first", `short hand: position ${asked.position}`), " ",
        named("second", `long hand: position ${other}`),
        pairs.length < result.rates.length
          ? ` ${pairs.length} of the ${result.rates.length} pairs have a clock here` : "");
      wave.heading.replaceChildren(`Pair ${chosen}: `, named("sine", `sine (column ${2 * chosen})`),
        " and ", named("cosine", `cosine (column ${2 * chosen + 1})`));
      const [rate, round] = [result.rates[chosen], result.wavelengths[chosen]].map(sized);
      const turn = `Pair ${chosen} turns by ${rate} radian a position, once round in ${round}. `;
      const similarity = shown(result.similarity, 3);
      const same = `Similarity of positions ${asked.position} and ${other}: ${similarity}.`;
      say((answer ? "" : turn) + same);
      const waves = `Sine and cosine of pair ${chosen} over the positions`;
      change(wave.drawing,
        { "aria-label": `${waves}, marked at ${asked.position} and ${other}.` });
      const marked = `marked at ${asked.offset} and −${asked.offset}`;
      change(alike.drawing,
        { "aria-label": `Similarity against offset, ${marked}: ${similarity}.` });
    }
    const children = [controls, verdict, key, clocks, wave.framed, alike.framed];
    return { update, children };
  }

  mount("positions", { start, compute, outcome, build });
})();
