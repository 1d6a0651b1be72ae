// Additive attention with two numbers per state: a query moves all sums along the tanh together.
// Where the curve is flat, the keys come out alike, so the other number decides.
(() => {
  const { change, html, draw, svg, figure, path, level, headings, bar, slider, checkbox, sum,
    softmax, shown, mount } = globalThis.explorerKit;
  const WIDTH = 320, HEIGHT = 210, LEFT = 34, RIGHT = 12, TOP = 20, BOTTOM = 30; // in SVG units
  const FARTHEST = 4.4; // of a sum, either way
  const TENTHS = { min: -10, max: 10 }; // of a number of the query
  const ORDER = ["first", "second"];
  const start = { first: 0, second: 10, straight: false };

  const times = (vector, matrix) =>
    matrix[0].map((_, column) => sum(vector.map((number, row) => number * matrix[row][column])));

  // additive_attention of solutions/ch03_bottleneck.py, whose w_key is the identity here;
  // `straight` leaves out the tanh.
  function compute({ keys, w_query, v, query, straight }) {
    const moved = times(query, w_query);
    const sums = keys.map((key) => key.map((number, i) => number + moved[i]));
    const bent = sums.map((row) => row.map((number) => (straight ? number : Math.tanh(number))));
    const scores = bent.map((row) => sum(row.map((number, i) => number * v[i])));
    const weights = softmax(scores);
    const context = keys[0].map((_, i) => sum(weights.map((weight, t) => weight * keys[t][i])));
    const apart = keys[0].map((_, i) => {
      const column = bent.map((row) => row[i]);
      return Math.max(...column) - Math.min(...column);
    });
    return { moved, sums, bent, scores, weights, context, apart };
  }

  const pair = (numbers, decimals = 1) =>
    `(${numbers.map((each) => shown(each, decimals).replace(/\.0$/, "")).join(", ")})`;

  // The curve, and on it a mark for each sum, with the initials of the words that have it. On the
  // right, how far apart the marks are.
  function curve(words, which) {
    const drawing = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const far = html("span", { class: "explorer-number" });
    const x = (value) => LEFT + ((value + FARTHEST) / (2 * FARTHEST)) * (WIDTH - LEFT - RIGHT);
    function show({ sums, bent, apart }, number, straight) {
      const most = straight ? FARTHEST : 1;
      const y = (value) => TOP + ((most - value) / (2 * most)) * (HEIGHT - TOP - BOTTOM);
      drawing.replaceChildren();
      for (const tick of straight ? [-4, 0, 4] : [-1, 0, 1])
        level(drawing, { from: LEFT, to: WIDTH - RIGHT, at: y(tick), gap: 6 }, shown(tick, 0));
      const below = { y: HEIGHT - 8, "text-anchor": "middle" };
      for (const tick of [-4, -2, 0, 2, 4])
        draw(drawing, "text", { x: x(tick), ...below }, shown(tick, 0));
      const points = Array.from({ length: 89 }, (_, i) => -FARTHEST + i / 10)
        .map((value) => [x(value), y(straight ? value : Math.tanh(value))]);
      draw(drawing, "path", { d: path(points), class: "bend-curve" });
      const column = bent.map((row) => row[number]);
      const edge = WIDTH - RIGHT + 5;
      const ends = { y1: y(Math.max(...column)), y2: y(Math.min(...column)) };
      for (const at of Object.values(ends))
        draw(drawing, "line", { x1: LEFT, x2: edge, y1: at, y2: at, class: "bend-end" });
      draw(drawing, "line", { x1: edge, x2: edge, ...ends, class: "bend-apart" });
      const marks = new Map();
      sums.forEach((row, t) => {
        const place = row[number].toFixed(3);
        marks.set(place, [...(marks.get(place) ?? []), t]);
      });
      for (const [place, at] of marks) {
        const middle = { x: x(Number(place)), y: y(column[at[0]]) };
        const width = 10 + 12 * at.length;
        const box = { x: middle.x - width / 2, y: middle.y - 11, width, height: 22, rx: 11 };
        draw(drawing, "rect", { ...box, class: "bend-mark" });
        const text = { x: middle.x, y: middle.y + 5, "text-anchor": "middle" };
        const initials = at.map((t) => words[t][0]).join(" ");
        draw(drawing, "text", { ...text, class: "bend-initial" }, initials);
      }
      far.textContent = shown(apart[number]);
      const said = words.map((word, t) => `“${word}” ${shown(sums[t][number], 1)}, then ` +
        shown(column[t])).join("; ");
      change(drawing, { "aria-label": `${which} numbers: sum, then what comes of it: ${said}.` });
    }
    const caption = [`${which} numbers: `, far, " apart"];
    return { framed: figure(caption, drawing), show };
  }

  function weightsTable(words, keys) {
    const rows = words.map((word, t) => {
      const [score, weight] = [html("td"), html("td")];
      const { track, fill } = bar();
      const name = html("th", { scope: "row" }, word);
      const row = html("tr", {}, name, html("td", {}, pair(keys[t], 0)), score, weight, track);
      return { row, score, weight, fill };
    });
    const table = html("table", { class: "explorer-table explorer-result" },
      headings(["word", "key", "score", "weight", ""]),
      html("tbody", {}, ...rows.map(({ row }) => row)));
    function show({ scores, weights }) {
      rows.forEach(({ score, weight, fill }, t) => {
        score.textContent = shown(scores[t]);
        weight.textContent = shown(weights[t]);
        fill(weights[t]);
      });
    }
    return { table, show };
  }

  function build({ model, choose, verdict, say }) {
    const [words, keys, w_query, v] =
      ["words", "keys", "w_query", "v"].map((key) => model.get(key));
    const sliders = ORDER.map((name) =>
      slider(`Query, ${name} number`, TENTHS, (value) => choose({ [name]: value })));
    const without = checkbox("without the tanh", (straight) => choose({ straight }));
    const controls = html("div", { class: "explorer-controls" },
      ...sliders.map(({ field }) => field), without.field);
    const curves = ["First", "Second"].map((which) => curve(words, which));
    const parts = html("div", { class: "explorer-parts" }, ...curves.map(({ framed }) => framed));
    const table = weightsTable(words, keys);

    function update({ first, second, straight }) {
      const query = [first / 10, second / 10];
      const found = compute({ keys, w_query, v, query, straight });
      sliders.forEach((each, i) => {
        const written = shown(query[i], 1);
        each.show([first, second][i], written, written);
      });
      without.input.checked = straight;
      curves.forEach((each, i) => each.show(found, i, straight));
      table.show(found);
      const most = Math.max(...found.weights);
      const best = words.filter((_, t) => found.weights[t] > most - 1e-6)
        .map((word) => `“${word}”`);
      const wins = best.length > 1 ? `${best.join(" and ")} share the first place`
        : `${best[0]} gets the most`;
      say(`The query ${pair(query)} adds ${pair(found.moved)} to every key. In the first numbers ` +
        `the keys are then ${shown(found.apart[0])} apart, in the second ` +
        `${shown(found.apart[1])}, and ${wins}: ${shown(most)} of the weight.`);
    }
    return { update, children: [controls, verdict, parts, table.table] };
  }

  mount("bend", { start, compute, build });
})();
