// Scaled dot-product attention in a plane: one query to turn and stretch, a few keys, and the
// average of the values that comes out.
(() => {
  const { change, html, draw, svg, figure, headings, bar, slider, checkbox, sum, largestAt, softmax,
    shown, mount } = globalThis.explorerKit;
  const SIZE = 320; // side of a plane, in SVG units
  const UNIT = 40; // SVG units for a length of 1
  const LONGEST = 3.4; // of the query, so that its grip stays in the plane: 160 - 3.4 * 40 = 24
  const STEP = 0.05; // of its length
  // what the two directions of these planes mean: right, and up
  const MEANINGS = {
    keys: ["is a thing", "acts or happens"],
    values: ["has a meaning", "animal"],
  };
  const start = {
    words: ["The", "cat", "sat", "on", "mat"],
    keys: [[-2.0, 0.7], [1.8, 1.25], [-0.35, 2.0], [-1.2, -1.7], [1.7, -1.2]],
    values: [[-2.4, -1.2], [1.4, 2.4], [1.3, -2.2], [-1.5, -2.3], [2.6, -1.0]],
    query: [1.6, 0.4],
    d_k: 2,
    scaled: true,
  };

  // The arithmetic of solutions/ch04_attention.py for one query. The plane has two dimensions. For
  // a larger d_k every dot product grows by sqrt(d_k / 2), as the spread of dot products of random
  // vectors does. What is `given` comes from elsewhere.
  function compute({ query, keys, values, d_k, scaled }, given = {}) {
    const stretch = Math.sqrt(d_k / 2);
    const dots = keys.map((key) => (query[0] * key[0] + query[1] * key[1]) * stretch);
    const scores = given.scores ?? (scaled ? dots.map((dot) => dot / Math.sqrt(d_k)) : dots);
    const weights = given.weights ?? softmax(scores);
    const mixed = (axis) => sum(weights.map((weight, i) => weight * values[i][axis]));
    const output = given.output ?? [mixed(0), mixed(1)];
    const power = (n) => sum(weights.map((weight) => weight ** n));
    const squares = power(2) - 2 * power(3) + power(2) ** 2;
    const jacobian = Math.sqrt(Math.max(0, squares)); // the Frobenius norm
    return { dots, scores, weights, output, jacobian };
  }

  function outcome(model, inputs, given) {
    const [keys, values] = [model.get("keys"), model.get("values")];
    return compute({ keys, values, scaled: true, ...inputs }, given);
  }

  // The convex hull, by the gift-wrapping walk.
  function hull(points) {
    let current = points.reduce((best, point) => (point[0] < best[0] ? point : best));
    const corners = [];
    do {
      corners.push(current);
      let next = points.find((point) => point !== current);
      for (const point of points) {
        const turn =
          (next[0] - current[0]) * (point[1] - current[1]) -
          (next[1] - current[1]) * (point[0] - current[0]);
        if (point !== current && turn < 0) next = point;
      }
      current = next;
    } while (current !== corners[0] && corners.length < points.length);
    return corners;
  }

  const at = ([x, y]) => [SIZE / 2 + UNIT * x, SIZE / 2 - UNIT * y];
  const unit = (vector) => vector.map((number) => number / (Math.hypot(...vector) || 1));
  const percent = (weight) => {
    const rounded = Math.round(100 * weight);
    return rounded === 100 && weight < 1 - 1e-12 ? "over 99%" : `${rounded}%`;
  };

  function plane(name, title, meanings) {
    const drawing = svg(SIZE, SIZE, { class: "attention-plane" });
    const [from, to, middle] = [8, SIZE - 8, SIZE / 2];
    const axis = { class: "explorer-grid" };
    draw(drawing, "line", { x1: from, x2: to, y1: middle, y2: middle, ...axis });
    draw(drawing, "line", { y1: from, y2: to, x1: middle, x2: middle, ...axis });
    if (meanings) {
      const [right, up] = meanings;
      const ending = { "text-anchor": "end", class: "attention-axis" };
      draw(drawing, "text", { x: to, y: middle + 16, ...ending }, `${right} →`);
      draw(drawing, "text", { x: middle + 7, y: from + 8, class: "attention-axis" }, `↑ ${up}`);
    }
    const framed = figure(title, drawing);
    framed.classList.add(`attention-${name}`);
    framed.classList.toggle("explorer-result", name === "values"); // the query is the reader's own
    return { drawing, framed };
  }

  // An arrow from the origin: a line and a head, drawn again by the function that is returned.
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
      const corner = (side) => `${bx - side * wide * uy},${by + side * wide * ux}`;
      change(head, { points: `${x},${y} ${corner(1)} ${corner(-1)}` });
    };
  }

  function name(parent, text, extra = "") {
    const attributes = { "text-anchor": "middle", class: `attention-word ${extra}` };
    return draw(parent, "text", attributes, text);
  }

  function nameBeside(parent, [x, y], away, text) {
    change(name(parent, text), { x: x + 15 * away[0], y: y - 14 * away[1] + 5 });
  }

  // The place of the query's name: beyond its tip and, where the plane ends, beside it.
  function beyond([tipX, tipY], angle) {
    const within = (number, edge) => Math.min(Math.max(number, edge), SIZE - edge);
    const [ahead, above] = [Math.cos(angle), Math.sin(angle)];
    const [x, y] = [tipX + 36 * ahead, tipY - 24 * above];
    const [inX, inY] = [within(x, 28), within(y, 12)];
    const lackX = Math.min(1, Math.abs(x - inX) / 18);
    const lackY = Math.min(1, Math.abs(y - inY) / 8);
    return {
      x: inX + 36 * lackY * (ahead < 0 ? -1 : 1),
      y: inY - 24 * lackX * (above < 0 ? -1 : 1) + 5,
    };
  }

  // The plane of the query: what stays in it, and `show`, which draws the rest.
  function queryPlane(words, keys, meanings) {
    const { drawing, framed } = plane("query", "Query and keys: drag the query", meanings);
    const keyArrows = keys.map(() => arrow(drawing, "key"));
    keys.forEach((key, i) => nameBeside(drawing, at(key), unit(key), words[i]));
    const queryArrow = arrow(drawing, "query");
    const grip = draw(drawing, "circle", { r: 24, class: "attention-grip" });
    const knob = draw(drawing, "circle", { r: 8, class: "attention-knob" });
    const queryName = name(drawing, "query", "attention-query-name");
    function show(query, weights, angle) {
      keyArrows.forEach((point, i) => point(keys[i], 1.5 + 4.5 * weights[i]));
      queryArrow(query, 4);
      const tip = at(query);
      for (const circle of [grip, knob]) change(circle, { cx: tip[0], cy: tip[1] });
      change(queryName, beyond(tip, angle));
    }
    return { drawing, framed, show, held: [grip, knob] };
  }

  // The plane of the values.
  function valuePlane(words, values, meanings) {
    const { drawing, framed } = plane("values", "Values, and their average", meanings);
    const corners = hull(values).map((point) => at(point).join()).join(" ");
    draw(drawing, "polygon", { points: corners, class: "attention-hull" });
    const spokes = values.map(() => draw(drawing, "line", { class: "attention-spoke" }));
    const dots = values.map((value) => {
      const [cx, cy] = at(value);
      return draw(drawing, "circle", { cx, cy, class: "attention-value" });
    });
    const centre = [0, 1].map((axis) => sum(values.map((value) => value[axis])) / values.length);
    values.forEach((value, i) => {
      const away = unit([value[0] - centre[0], value[1] - centre[1]]);
      nameBeside(drawing, at(value), away.map((number) => 1.6 * number), words[i]);
    });
    const output = draw(drawing, "rect", { width: 14, height: 14, class: "attention-output" });
    const outputName = name(drawing, "output");
    drawing.append(...drawing.querySelectorAll(".attention-axis")); // above the lines, to be read
    function show(result) {
      const [outX, outY] = at(result.output);
      change(output, { x: outX - 7, y: outY - 7, transform: `rotate(45 ${outX} ${outY})` });
      // away from the words at the corners
      const inward = unit([centre[0] - result.output[0], centre[1] - result.output[1]]);
      change(outputName, { x: outX + 38 * inward[0], y: outY - 22 * inward[1] + 5 });
      values.forEach((value, i) => {
        const [x, y] = at(value);
        const weight = result.weights[i];
        change(dots[i], { r: 3.5 + 7 * Math.sqrt(weight) });
        change(spokes[i], { x1: outX, y1: outY, x2: x, y2: y, "stroke-width": 0.5 + 5 * weight });
      });
    }
    return { drawing, framed, show };
  }

  function weightTable(words) {
    const rows = words.map((word) => {
      const [dot, score, weight] = [html("td"), html("td"), html("td")];
      const { track, fill } = bar();
      const heading = html("th", { scope: "row" }, word);
      const row = html("tr", {}, heading, dot, score, track, weight);
      return { fill, dot, score, weight, row };
    });
    const element = html("table", { class: "explorer-table explorer-result attention-table" },
      headings(["key", "q · k", "score", "", "weight"]),
      html("tbody", {}, ...rows.map(({ row }) => row)));
    function show(result, best) {
      rows.forEach(({ fill, dot, score, weight, row }, i) => {
        dot.textContent = shown(result.dots[i]);
        score.textContent = shown(result.scores[i]);
        weight.textContent = shown(result.weights[i], 3);
        fill(result.weights[i]);
        row.classList.toggle("attention-best", i === best);
      });
    }
    return { element, show };
  }

  function build({ model, choose, redraw, verdict, say }) {
    const [words, keys, values] = ["words", "keys", "values"].map((key) => model.get(key));
    // vectors of a reader's own mean what the reader says
    const meaning = (name) =>
      String(model.get(name)) === String(start[name]) ? MEANINGS[name] : null;
    const left = queryPlane(words, keys, meaning("keys"));
    const right = valuePlane(words, values, meaning("values"));
    const table = weightTable(words);
    const sized = (vector) => Math.hypot(...vector);
    let angle = Math.atan2(model.get("query")[1], model.get("query")[0]);
    function aim(turn, long) {
      angle = turn; // a query of length 0 cannot hold it
      choose({ query: [long * Math.cos(turn), long * Math.sin(turn)] });
      redraw(); // at length 0 the query stays as it was, and a notebook's model then says nothing
    }
    const direction = slider("Direction of the query", { min: -180, max: 180 }, (degrees) =>
      aim((degrees * Math.PI) / 180, sized(model.get("query"))));
    const length = slider("Length of the query", { min: 0, max: LONGEST, step: STEP }, (long) =>
      aim(angle, long));
    const subscripted = () => [html("i", {}, "d"), html("sub", {}, "k")];
    const width = slider(["Width ", ...subscripted()], { min: 1, max: 9 }, (power) =>
      choose({ d_k: 2 ** power }));
    const scaled = checkbox(["Divide by √", ...subscripted()], (on) => choose({ scaled: on }));
    // a learner's function divides or does not
    const switches = model.get("computed") ? [] : [scaled.field];
    const controls = html("div", { class: "explorer-controls attention-controls" },
      direction.field, length.field, width.field, ...switches);

    // Dragging. A finger must start on the query, so that elsewhere it scrolls the page.
    const board = left.drawing;
    function follow(event) {
      const box = board.getBoundingClientRect();
      const x = (((event.clientX - box.left) / box.width) * SIZE - SIZE / 2) / UNIT;
      const y = (SIZE / 2 - ((event.clientY - box.top) / box.height) * SIZE) / UNIT;
      // in the steps of the sliders, which would otherwise move it when they are next touched
      const long = Math.round(Math.min(Math.hypot(x, y), LONGEST) / STEP) * STEP;
      const degrees = Math.round((Math.atan2(y, x) * 180) / Math.PI);
      aim(long ? (degrees * Math.PI) / 180 : angle, long);
    }
    board.addEventListener("pointerdown", (event) => {
      const held = event.pointerType === "mouse" || left.held.includes(event.target);
      if (event.button !== 0 || !held) return;
      event.preventDefault();
      board.setPointerCapture(event.pointerId);
      follow(event);
    });
    board.addEventListener("pointermove", (event) => {
      if (board.hasPointerCapture(event.pointerId)) follow(event);
    });

    function update(now, answer) {
      const { query, d_k } = now;
      const result = outcome(model, answer?.inputs ?? now, answer?.numbers);
      const even = Math.max(...result.weights) - Math.min(...result.weights) < 1e-9;
      const best = even ? -1 : largestAt(result.weights);
      if (sized(query) > 1e-9) angle = Math.atan2(query[1], query[0]);
      left.show(query, answer?.problem ? keys.map(() => 0) : result.weights, angle);
      right.show(result);
      table.show(result, best);

      const degrees = Math.round((angle * 180) / Math.PI);
      direction.show(degrees, `${shown(degrees, 0)}°`, `${degrees} degrees`);
      length.show(sized(query), shown(sized(query)));
      width.show(Math.log2(d_k), d_k, `${d_k} dimensions`);
      scaled.input.checked = now.scaled;

      const where = result.output.map((number) => shown(number)).join(", ");
      const most = even
        ? "All weights are equal: the output is the plain average."
        : `“${words[best]}” gets ${percent(result.weights[best])} of the weight.`;
      const sentence = `${most} Output: (${where}).`;
      const stuck = result.jacobian < 0.05
        ? " The softmax is saturated: a small change of the scores hardly moves the weights."
        : "";
      say(sentence + stuck);
      const among = `among the keys of ${words.join(", ")}.`;
      change(board, { "aria-label": `The query points at ${degrees} degrees, ${among}` });
      const inside = "inside the hull of the values.";
      change(right.drawing, { "aria-label": `The output lies at (${where}), ${inside}` });
    }
    // on a phone, the bars and the sliders come right below the query that moves them
    const parts = [left.framed, table.element, controls, right.framed, verdict];
    return { update, children: [html("div", { class: "attention-parts" }, ...parts)] };
  }

  mount("attention", { start, compute, outcome, build });
})();
