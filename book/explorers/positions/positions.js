// The sinusoidal encoding as a row of clocks: two positions, a fixed offset apart, their hands pair by pair, and how alike they are.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FARTHEST = 64; // largest offset of the slider and of the curve
  const LAST = 128; // largest position of the slider
  const DIALS = 8; // clocks that are shown; with more pairs than that, as many spread evenly over them
  const START = { position: 5, offset: 3, d_model: 64, dial: 1 };
  const WIDTH = 640, HEIGHT = 230, LEFT = 34, RIGHT = 12, TOP = 10, BOTTOM = 30; // of a plot, in SVG units

  // The arithmetic of solutions/ch02_positional_encoding.py for two positions. Similarity is the dot product of their encodings
  // divided by d_model / 2, which is the dot product of an encoding with itself. What is `given` comes from elsewhere.
  function compute({ position, offset, d_model }, given = {}) {
    const rates = Array.from({ length: d_model / 2 }, (_, pair) => 10000 ** ((-2 * pair) / d_model));
    const encode = (place) => rates.flatMap((rate) => [Math.sin(place * rate), Math.cos(place * rate)]);
    const [first, second] = [given.first ?? encode(position), given.second ?? encode(position + offset)];
    const alike = (away) => rates.reduce((sum, rate) => sum + Math.cos(away * rate), 0) / rates.length;
    return {
      rates,
      wavelengths: rates.map((rate) => (2 * Math.PI) / rate),
      first,
      second,
      similarity: first.reduce((sum, number, column) => sum + number * second[column], 0) / rates.length,
      curve: given.curve ?? Array.from({ length: 2 * FARTHEST + 1 }, (_, i) => alike(i - FARTHEST)),
    };
  }

  const outcome = (model, inputs, given) => compute(inputs, given);

  // Which pairs have a clock: all of them, or eight from the fastest to the slowest.
  function shownPairs(d_model) {
    const count = Math.min(DIALS, d_model / 2);
    return Array.from({ length: count }, (_, i) => Math.round((i * (d_model / 2 - 1)) / (count - 1)));
  }

  const shown = (number, decimals) => number.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  const sized = (number) =>
    number >= 1000 ? Math.round(number).toLocaleString("en") : number.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

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

  function slider(text, settings, extra = "") {
    const number = html("span", { class: "positions-number", "aria-hidden": "true" }); // the slider says it itself
    const input = html("input", { type: "range", step: 1, ...settings });
    const field = html("label", { class: `positions-field ${extra}` }, html("span", {}, text, " ", number), input);
    return { number, input, field };
  }

  // A plot with a horizontal axis of whole numbers and a vertical one from -1 to 1.
  function plot(caption, low, high, ticks, axis) {
    const svg = document.createElementNS(SVG, "svg");
    change(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "positions-plot" });
    const x = (value) => LEFT + ((value - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
    const y = (value) => TOP + ((1 - value) / 2) * (HEIGHT - TOP - BOTTOM);
    for (const level of [-1, 0, 1]) {
      draw(svg, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level), class: "positions-grid" });
      draw(svg, "text", { x: LEFT - 8, y: y(level) + 6, "text-anchor": "end" }, shown(level, 0));
    }
    for (const tick of ticks) draw(svg, "text", { x: x(tick), y: HEIGHT - 8, "text-anchor": "middle" }, shown(tick, 0));
    draw(svg, "text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end", class: "positions-axis" }, axis);
    const path = (values, from, step) => values.map((value, i) => `${i ? "L" : "M"}${x(from + i * step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const heading = html("span");
    heading.textContent = caption;
    return { svg, x, y, path, heading, figure: html("figure", {}, html("figcaption", {}, heading), svg) };
  }

  function render({ model, el }) {
    for (const [key, value] of Object.entries(START)) if (model.get(key) === undefined) model.set(key, value);
    const choose = (key, value) => {
      model.set(key, value);
      model.save_changes();
    };

    const position = slider("Position", { min: 0, max: LAST });
    const offset = slider("Offset", { min: 0, max: FARTHEST });
    const width = slider("Columns, d_model", { min: 2, max: 9 });
    const pair = slider("Pair", { min: 0 });
    const controls = html("div", { class: "positions-controls" }, position.field, offset.field, width.field, pair.field);

    const clocks = html("div", { class: "positions-clocks", "aria-hidden": "true" });
    const key = html("p", { class: "positions-key", "aria-hidden": "true" });
    const wave = plot("", 0, LAST + FARTHEST, [0, 32, 64, 96, 128], "position");
    const lines = ["sine", "cosine"].map((name) => draw(wave.svg, "path", { class: `positions-${name}` }));
    const marks = ["first", "second"].map((name) => ({
      line: draw(wave.svg, "line", { class: `positions-mark positions-${name}`, y1: TOP, y2: HEIGHT - BOTTOM }),
      dots: [0, 1].map(() => draw(wave.svg, "circle", { r: 6, class: `positions-dot positions-${name}` })),
    }));
    const alike = plot("Similarity against offset, all pairs together", -FARTHEST, FARTHEST, [-64, -32, 0, 32], "offset");
    const curve = draw(alike.svg, "path", { class: "positions-curve" });
    const here = [-1, 1].map(() => draw(alike.svg, "circle", { r: 7, class: "positions-dot positions-second" }));
    const verdict = html("p", { class: "positions-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "positions-spoken", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root positions" }, controls, key, clocks, wave.figure, alike.figure, verdict, spoken));

    // One clock a pair; both hands start at twelve, because sine 0 and cosine 1 point straight up.
    let faces = [];
    function makeClocks(pairs) {
      clocks.replaceChildren();
      faces = pairs.map((number) => {
        const svg = document.createElementNS(SVG, "svg");
        change(svg, { viewBox: "-50 -50 100 100" });
        const rim = draw(svg, "circle", { r: 44, class: "positions-rim" });
        for (let hour = 0; hour < 12; hour += 1)
          draw(svg, "line", { x1: 0, x2: 0, y1: -44, y2: -39, class: "positions-hour", transform: `rotate(${30 * hour})` });
        const second = draw(svg, "line", { x1: 0, y1: 0, class: "positions-hand positions-second" });
        const first = draw(svg, "line", { x1: 0, y1: 0, class: "positions-hand positions-first" });
        draw(svg, "circle", { r: 4, class: "positions-hub" });
        const face = html("div", { class: "positions-clock" }, svg, html("span", {}, `pair ${number}`));
        clocks.append(face);
        return { number, rim, first, second, face };
      });
    }

    let timer;
    function update() {
      const now = Object.fromEntries(Object.keys(START).map((name) => [name, model.get(name)]));
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const asked = answer?.inputs ?? now;
      const pairs = shownPairs(asked.d_model);
      const chosen = pairs[Math.min(asked.dial, pairs.length - 1)];
      const result = outcome(model, asked, answer?.numbers);
      const other = asked.position + asked.offset;
      if (faces.map(({ number }) => number).join() !== pairs.join()) makeClocks(pairs);

      faces.forEach(({ number, first, second, face }) => {
        const tip = (numbers, long) => ({ x2: long * numbers[2 * number], y2: -long * numbers[2 * number + 1] });
        change(first, tip(result.first, 27));
        change(second, tip(result.second, 38));
        face.classList.toggle("positions-chosen", number === chosen);
      });
      const rate = result.rates[chosen];
      const sampled = (turn) => Array.from({ length: 4 * (LAST + FARTHEST) + 1 }, (_, i) => turn((i / 4) * rate));
      const columns = answer?.numbers?.wave; // of whole positions, while a formula has places between them
      lines.forEach((line, i) =>
        line.setAttribute("d", columns ? wave.path(columns[i], 0, 1) : wave.path(sampled([Math.sin, Math.cos][i]), 0, 0.25)));
      [asked.position, other].forEach((place, i) => {
        change(marks[i].line, { x1: wave.x(place), x2: wave.x(place) });
        const numbers = [result.first, result.second][i];
        marks[i].dots.forEach((dot, side) => change(dot, { cx: wave.x(place), cy: wave.y(numbers[2 * chosen + side]) }));
      });
      curve.setAttribute("d", alike.path(result.curve, -FARTHEST, 1));
      here.forEach((dot, i) => change(dot, { cx: alike.x((2 * i - 1) * asked.offset), cy: alike.y(result.similarity) }));

      position.input.value = position.number.textContent = now.position;
      offset.input.value = offset.number.textContent = now.offset;
      width.input.value = Math.log2(now.d_model);
      width.number.textContent = now.d_model;
      width.input.setAttribute("aria-valuetext", `${now.d_model} columns`);
      const clocksNow = shownPairs(now.d_model);
      const dial = Math.min(now.dial, clocksNow.length - 1);
      const turned = clocksNow[dial];
      pair.input.max = clocksNow.length - 1;
      pair.input.value = dial;
      pair.number.textContent = turned;
      pair.input.setAttribute("aria-valuetext", `pair ${turned}, columns ${2 * turned} and ${2 * turned + 1}`);

      const [a, b] = ["positions-name positions-first", "positions-name positions-second"].map((name, i) =>
        html("span", { class: name }, `${["short", "long"][i]} hand: position ${[asked.position, other][i]}`));
      key.replaceChildren(a, " ", b);
      wave.heading.replaceChildren(`Pair ${chosen}: `, html("span", { class: "positions-name positions-sine" }, `sine (column ${2 * chosen})`),
        " and ", html("span", { class: "positions-name positions-cosine" }, `cosine (column ${2 * chosen + 1})`));
      const turn = answer ? "" : `Pair ${chosen} turns by ${sized(rate)} radian a position, once round in ${sized(result.wavelengths[chosen])}. `;
      const same = `Similarity of positions ${asked.position} and ${other}: ${shown(result.similarity, 3)}.`;
      verdict.textContent = turn + same;
      wave.svg.setAttribute("aria-label", `Sine and cosine of pair ${chosen} over the positions, marked at ${asked.position} and ${other}.`);
      alike.svg.setAttribute("aria-label", `Similarity against offset, marked at ${asked.offset} and −${asked.offset}: ${shown(result.similarity, 3)}.`);
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = turn + same; }, 400);
    }

    position.input.addEventListener("input", () => choose("position", Number(position.input.value)));
    offset.input.addEventListener("input", () => choose("offset", Number(offset.input.value)));
    width.input.addEventListener("input", () => choose("d_model", 2 ** Number(width.input.value)));
    pair.input.addEventListener("input", () => choose("dial", Number(pair.input.value)));
    const events = [...Object.keys(START), "computed"].map((name) => `change:${name}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      clearTimeout(timer);
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.positions = { render, compute, outcome };
})();
