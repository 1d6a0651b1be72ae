// Scaled dot-product attention in a plane: one query to turn and stretch, a few keys, and the average of the values that comes out.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SIZE = 320; // side of a plane, in SVG units
  const UNIT = 40; // SVG units for a length of 1
  const LONGEST = 3.4; // of the query, so that its grip stays in the plane: 160 - 3.4 * 40 = 24
  const START = {
    words: ["The", "cat", "sat", "on", "mat"],
    keys: [[-2.0, 0.7], [1.8, 1.25], [-0.35, 2.0], [-1.2, -1.7], [1.7, -1.2]],
    values: [[-2.5, -1.6], [-1.3, 2.4], [2.4, 1.5], [0.3, -0.4], [1.9, -2.3]],
    query: [1.6, 0.4],
    d_k: 2,
    scaled: true,
  };

  // The arithmetic of solutions/ch04_attention.py for one query. The plane has two dimensions. For a larger d_k every dot product
  // grows by sqrt(d_k / 2), as the spread of dot products of random vectors does. What is `given` comes from elsewhere.
  function compute({ query, keys, values, d_k, scaled }, given = {}) {
    const dots = keys.map((key) => (query[0] * key[0] + query[1] * key[1]) * Math.sqrt(d_k / 2));
    const scores = given.scores ?? (scaled ? dots.map((dot) => dot / Math.sqrt(d_k)) : dots);
    const largest = Math.max(...scores);
    const exponentials = scores.map((score) => Math.exp(score - largest));
    const total = exponentials.reduce((sum, number) => sum + number, 0);
    const weights = given.weights ?? exponentials.map((number) => number / total);
    const output = given.output ?? [0, 1].map((axis) => weights.reduce((sum, weight, i) => sum + weight * values[i][axis], 0));
    const power = (n) => weights.reduce((sum, weight) => sum + weight ** n, 0);
    const jacobian = Math.sqrt(Math.max(0, power(2) - 2 * power(3) + power(2) ** 2)); // the Frobenius norm
    return { dots, scores, weights, output, jacobian };
  }

  const outcome = (model, inputs, given) => compute({ keys: model.get("keys"), values: model.get("values"), scaled: true, ...inputs }, given);

  // The convex hull, by the gift-wrapping walk.
  function hull(points) {
    let current = points.reduce((best, point) => (point[0] < best[0] ? point : best));
    const corners = [];
    do {
      corners.push(current);
      let next = points.find((point) => point !== current);
      for (const point of points) {
        const turn =
          (next[0] - current[0]) * (point[1] - current[1]) - (next[1] - current[1]) * (point[0] - current[0]);
        if (point !== current && turn < 0) next = point;
      }
      current = next;
    } while (current !== corners[0] && corners.length < points.length);
    return corners;
  }

  const at = ([x, y]) => [SIZE / 2 + UNIT * x, SIZE / 2 - UNIT * y];
  const shown = (number, decimals) => number.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  const percent = (weight) => {
    const rounded = Math.round(100 * weight);
    return rounded === 100 && weight < 1 - 1e-12 ? "over 99%" : `${rounded}%`;
  };

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function draw(parent, tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    change(element, attributes);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function change(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  function plane(name, title) {
    const svg = document.createElementNS(SVG, "svg");
    change(svg, { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", class: "attention-plane" });
    for (const line of [{ x1: 8, x2: SIZE - 8, y1: SIZE / 2, y2: SIZE / 2 }, { y1: 8, y2: SIZE - 8, x1: SIZE / 2, x2: SIZE / 2 }])
      draw(svg, "line", { ...line, class: "attention-axis" });
    return { svg, figure: html("figure", { class: `attention-${name}` }, html("figcaption", {}, title), svg) };
  }

  // An arrow from the origin: a line and a head, drawn again by `point`.
  function arrow(parent, name) {
    const line = draw(parent, "line", { class: `attention-${name}-line` });
    const head = draw(parent, "polygon", { class: `attention-${name}-head` });
    return (vector, width) => {
      const [x, y] = at(vector);
      const length = Math.hypot(...vector);
      const [ux, uy] = length ? [vector[0] / length, -vector[1] / length] : [0, 0];
      const long = Math.min(7 + 1.6 * width, UNIT * length);
      const wide = (3 + 0.9 * width) * (long / (7 + 1.6 * width));
      const [bx, by] = [x - long * ux, y - long * uy];
      change(line, { x1: SIZE / 2, y1: SIZE / 2, x2: bx, y2: by, "stroke-width": width });
      change(head, { points: `${x},${y} ${bx - wide * uy},${by + wide * ux} ${bx + wide * uy},${by - wide * ux}` });
    };
  }

  function label(parent, [x, y], away, text, name) {
    return draw(parent, "text", { x: x + 15 * away[0], y: y - 14 * away[1] + 5, "text-anchor": "middle", class: name }, text);
  }

  const subscripted = () => [html("i", {}, "d"), html("sub", {}, "k")];

  function slider(text, settings) {
    const number = html("span", { class: "attention-number", "aria-hidden": "true" }); // the slider says it itself
    const input = html("input", { type: "range", ...settings });
    return { number, input, field: html("label", { class: "attention-field" }, html("span", {}, ...text, " ", number), input) };
  }

  function render({ model, el }) {
    for (const [key, value] of Object.entries(START)) if (model.get(key) === undefined) model.set(key, value);
    const state = () => Object.fromEntries(Object.keys(START).map((key) => [key, model.get(key)]));
    const { words, keys, values } = state();
    const choose = (changes) => {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    };
    const unit = (vector) => vector.map((number) => number / (Math.hypot(...vector) || 1));

    // What does not change: planes, labels, controls, the table.
    const left = plane("query", "Query and keys: drag the query");
    const keyArrows = keys.map(() => arrow(left.svg, "key"));
    keys.forEach((key, i) => label(left.svg, at(key), unit(key), words[i], "attention-word"));
    const queryArrow = arrow(left.svg, "query");
    const grip = draw(left.svg, "circle", { r: 24, class: "attention-grip" });
    const knob = draw(left.svg, "circle", { r: 8, class: "attention-knob" });
    const queryName = draw(left.svg, "text", { "text-anchor": "middle", class: "attention-word attention-query-name" }, "query");

    const right = plane("values", "Values, and their average");
    draw(right.svg, "polygon", { points: hull(values).map((point) => at(point).join()).join(" "), class: "attention-hull" });
    const spokes = values.map(() => draw(right.svg, "line", { class: "attention-spoke" }));
    const dots = values.map((value) => draw(right.svg, "circle", { cx: at(value)[0], cy: at(value)[1], class: "attention-value" }));
    const centre = [0, 1].map((axis) => values.reduce((sum, value) => sum + value[axis], 0) / values.length);
    values.forEach((value, i) => {
      const away = unit([value[0] - centre[0], value[1] - centre[1]]);
      label(right.svg, at(value), away.map((number) => 1.25 * number), words[i], "attention-word");
    });
    const output = draw(right.svg, "rect", { width: 14, height: 14, class: "attention-output" });
    const outputName = draw(right.svg, "text", { "text-anchor": "middle", class: "attention-word" }, "output");

    const direction = slider(["Direction of the query"], { min: -180, max: 180, step: 1 });
    const length = slider(["Length of the query"], { min: 0, max: LONGEST, step: 0.05 });
    const width = slider(["Width ", ...subscripted()], { min: 1, max: 9, step: 1 });
    const scaled = html("input", { type: "checkbox" });
    const controls = html("div", { class: "attention-controls" }, direction.field, length.field, width.field);
    if (!model.get("computed")) // a learner's function divides or does not
      controls.append(html("label", { class: "attention-switch" }, scaled, html("span", {}, "Divide by √", ...subscripted())));

    const rows = words.map((word) => {
      const bar = html("span", { class: "attention-bar" });
      const [dot, score, weight] = [html("td"), html("td"), html("td")];
      const track = html("td", { class: "attention-track", "aria-hidden": "true" }, bar);
      return { bar, dot, score, weight, row: html("tr", {}, html("th", { scope: "row" }, word), dot, score, track, weight) };
    });
    const columns = ["key", "q · k", "score", "", "weight"].map((name) =>
      name ? html("th", { scope: "col" }, name) : html("td", { "aria-hidden": "true" }));
    const table = html("table", { class: "attention-table" },
      html("thead", {}, html("tr", {}, ...columns)), html("tbody", {}, ...rows.map(({ row }) => row)));
    const verdict = html("p", { class: "attention-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "attention-spoken", "aria-live": "polite" });
    const parts = html("div", { class: "attention-parts" }, left.figure, table, controls, right.figure, verdict, spoken);
    el.append(html("div", { class: "explorer-root attention" }, parts));

    // What changes with the state.
    let angle = Math.atan2(model.get("query")[1], model.get("query")[0]);
    let timer;
    // The place of the query's name: beyond its tip and, where the plane ends, beside it.
    function beyond([tipX, tipY]) {
      const within = (number, edge) => Math.min(Math.max(number, edge), SIZE - edge);
      const [ahead, above] = [Math.cos(angle), Math.sin(angle)];
      const [x, y] = [tipX + 36 * ahead, tipY - 24 * above];
      const [inX, inY] = [within(x, 28), within(y, 12)];
      const [lackX, lackY] = [Math.min(1, Math.abs(x - inX) / 18), Math.min(1, Math.abs(y - inY) / 8)];
      return { x: inX + 36 * lackY * (ahead < 0 ? -1 : 1), y: inY - 24 * lackX * (above < 0 ? -1 : 1) + 5 };
    }
    function update() {
      const now = state();
      const { query, d_k } = now;
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const result = outcome(model, answer?.inputs ?? now, answer?.numbers);
      const best = result.weights.indexOf(Math.max(...result.weights));
      const size = Math.hypot(...query);
      if (size > 1e-9) angle = Math.atan2(query[1], query[0]);

      keyArrows.forEach((point, i) => point(keys[i], 1.5 + (answer?.problem ? 0 : 4.5 * result.weights[i])));
      queryArrow(query, 4);
      const [tipX, tipY] = at(query);
      for (const circle of [grip, knob]) change(circle, { cx: tipX, cy: tipY });
      change(queryName, beyond([tipX, tipY]));

      const [outX, outY] = at(result.output);
      change(output, { x: outX - 7, y: outY - 7, transform: `rotate(45 ${outX} ${outY})` });
      const inward = unit([centre[0] - result.output[0], centre[1] - result.output[1]]); // away from the words at the corners
      change(outputName, { x: outX + 38 * inward[0], y: outY - 22 * inward[1] + 5 });
      values.forEach((value, i) => {
        const [x, y] = at(value);
        change(dots[i], { r: 3.5 + 7 * Math.sqrt(result.weights[i]) });
        change(spokes[i], { x1: outX, y1: outY, x2: x, y2: y, "stroke-width": 0.5 + 5 * result.weights[i] });
      });
      rows.forEach(({ bar, dot, score, weight, row }, i) => {
        dot.textContent = shown(result.dots[i], 2);
        score.textContent = shown(result.scores[i], 2);
        weight.textContent = shown(result.weights[i], 3);
        bar.style.width = `${100 * result.weights[i]}%`;
        row.classList.toggle("attention-best", i === best);
      });

      const degrees = Math.round((angle * 180) / Math.PI);
      direction.input.value = degrees;
      direction.number.textContent = `${shown(degrees, 0)}°`;
      direction.input.setAttribute("aria-valuetext", `${degrees} degrees`);
      length.input.value = size;
      length.number.textContent = shown(size, 2);
      width.input.value = Math.log2(d_k);
      width.number.textContent = d_k;
      width.input.setAttribute("aria-valuetext", `${d_k} dimensions`);
      scaled.checked = now.scaled;

      const where = result.output.map((number) => shown(number, 2)).join(", ");
      const sentence = `“${words[best]}” gets ${percent(result.weights[best])} of the weight. Output: (${where}).`;
      const stuck = result.jacobian < 0.05 ? "The softmax is saturated." : "";
      verdict.textContent = `${sentence} How strongly the weights react to the scores: ${shown(result.jacobian, 3)}. ${stuck}`;
      left.svg.setAttribute("aria-label", `The query points at ${degrees} degrees, among the keys of ${words.join(", ")}.`);
      right.svg.setAttribute("aria-label", `The output lies at (${where}), inside the hull of the values.`);
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = `${sentence} ${stuck}`; }, 400);
    }

    // Hands: the sliders and the switch, and dragging. A finger must start on the query, so that elsewhere it scrolls the page.
    function aim(turn, long) {
      angle = turn; // a query of length 0 cannot hold it
      choose({ query: [long * Math.cos(turn), long * Math.sin(turn)] });
      update(); // at length 0 the query stays as it was, and a notebook's model then says nothing
    }
    direction.input.addEventListener("input", () => aim((direction.input.value * Math.PI) / 180, Math.hypot(...model.get("query"))));
    length.input.addEventListener("input", () => aim(angle, Number(length.input.value)));
    width.input.addEventListener("input", () => choose({ d_k: 2 ** Number(width.input.value) }));
    scaled.addEventListener("change", () => choose({ scaled: scaled.checked }));
    function follow(event) {
      const box = left.svg.getBoundingClientRect();
      const x = (((event.clientX - box.left) / box.width) * SIZE - SIZE / 2) / UNIT;
      const y = (SIZE / 2 - ((event.clientY - box.top) / box.height) * SIZE) / UNIT;
      const long = Math.hypot(x, y);
      aim(long ? Math.atan2(y, x) : angle, Math.min(long, LONGEST));
    }
    left.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || (event.pointerType !== "mouse" && event.target !== grip && event.target !== knob)) return;
      event.preventDefault();
      left.svg.setPointerCapture(event.pointerId);
      follow(event);
    });
    left.svg.addEventListener("pointermove", (event) => {
      if (left.svg.hasPointerCapture(event.pointerId)) follow(event);
    });

    const events = ["query", "d_k", "scaled", "computed"].map((key) => `change:${key}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.attention = { render, compute, outcome };
})();
