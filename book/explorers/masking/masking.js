// Paint a mask: a table of permissions, the weights that follow from it, and which input can then
// move which output.
(() => {
  const { html, checkbox, chips, walked, sum, softmax, listed, italian, said, mount } =
    globalThis.explorerKit;
  const start = {
    words: ["<bos>", "il", "gatto", "dorme", "<pad>"],
    x: [[0.9, 0.2], [-0.4, 1.1], [1.3, 0.8], [0.3, -1.2], [-0.9, -0.5]],
    w_q: [[1.2, -0.6], [0.5, 1.4]],
    w_k: [[1.0, 0.7], [-0.8, 1.1]],
    w_v: [[1.1, -0.3], [0.4, 0.9]],
    preset: "none",
    late: false,
  };
  const PRESETS = ["none", "causal", "padding", "both", "empty row"];

  const padding = (word) => word === "<pad>";
  function maskOf(preset, words) {
    const allowed = {
      none: () => true,
      causal: (query, key) => key <= query,
      padding: (query, key) => !padding(words[key]),
      both: (query, key) => key <= query && !padding(words[key]),
      "empty row": (query, key) => query !== 2 && key <= query,
    }[preset];
    return words.map((_, query) => words.map((_, key) => allowed(query, key)));
  }

  const dot = (one, other) => sum(one.map((number, i) => number * other[i]));
  const transposed = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));
  const times = (row, matrix) => transposed(matrix).map((column) => dot(row, column));

  // One row of weights, as in solutions/ch06_masking.py; or, with `late`, the softmax of all scores
  // with zeros after it.
  function weightsOf(scores, allowed, late) {
    const counted = scores.map((score, key) => (late || allowed[key] ? score : -Infinity));
    const shares = late || allowed.some(Boolean) ? softmax(counted) : scores.map(() => 0);
    return { shares, weights: shares.map((share, key) => (allowed[key] ? share : 0)) };
  }

  // Self-attention over x, and for each output and input the Frobenius norm of the Jacobian
  // d output / d input. What is `given` comes from elsewhere.
  function compute({ x, w_q, w_k, w_v, mask, late }, given = {}) {
    const [query, key, value] = [w_q, w_k, w_v].map((matrix) => x.map((row) => times(row, matrix)));
    const scale = Math.sqrt(query[0].length);
    const scores = query.map((q) => key.map((k) => dot(q, k) / scale));
    const rows = scores.map((row, at) => weightsOf(row, mask[at], late));
    const weights = rows.map((row) => row.weights);
    const output = weights.map((row) => times(row, value));
    const gradients = x.map((_, at) => {
      // of the output with respect to each score of its row: its share times the difference between
      // its value, where that counts, and the output
      const slopes = value.map((v, m) => v.map((number, o) =>
        rows[at].shares[m] * ((mask[at][m] ? number : 0) - output[at][o])));
      const asKey = times(query[at], transposed(w_k)).map((number) => number / scale);
      const asQuery = key.map((k) => times(k, transposed(w_q)).map((number) => number / scale));
      return x.map((row, input) => {
        let squares = 0;
        for (let o = 0; o < value[0].length; o++)
          for (let a = 0; a < row.length; a++) {
            let entry = weights[at][input] * w_v[a][o] + slopes[input][o] * asKey[a];
            if (input === at) slopes.forEach((slope, m) => { entry += slope[o] * asQuery[m][a]; });
            squares += entry * entry;
          }
        return Math.sqrt(squares);
      });
    });
    return { scores, weights, output, gradients, ...given };
  }

  // Also the mask: the one that is painted, or the one that its name means.
  function outcome(model, { preset, mask: painted, late = false }, given) {
    const names = ["x", "w_q", "w_k", "w_v"];
    const fixed = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    const named = () => (PRESETS.includes(preset) ? maskOf(preset, model.get("words")) : painted);
    const mask = given?.mask ?? named();
    return { mask, ...compute({ ...fixed, mask, late }, given) };
  }

  const SMALLEST = 1e-12; // less than this is rounding
  const moving = (gradient) => gradient >= SMALLEST;
  const shown = (number) => (!moving(number) ? "0" : number < 0.005 ? "<.01" : number.toFixed(2));
  const quoted = (word) => italian(`“${word}”`);

  // What there is to say of a mask, sentence by sentence.
  function remarks(words, mask, late, { weights, gradients }) {
    const all = words.flatMap((_, output) => words.map((_, input) => [output, input]));
    const ahead = all.filter(([output, input]) =>
      input > output && moving(gradients[output][input]));
    const sentences = [];
    if (ahead.length) {
      const [output, input] = ahead[0].map((place) => quoted(words[place]));
      sentences.push(said`A leak, if this is a decoder: ${input} moves the output of ${output},
        although it comes later. Number of such pairs: ${ahead.length}.`);
    } else sentences.push(["No output is moved by a later word."]);
    const pad = words.findIndex(padding);
    if (pad >= 0) {
      const touched = words.filter((_, output) => output !== pad && moving(gradients[output][pad]));
      const moved = listed(touched.map(quoted));
      sentences.push(touched.length ? said`Padding moves the output of ${moved}.`
        : ["Padding moves no word’s output."]);
    }
    const empty = words.filter((_, row) => !mask[row].some(Boolean));
    if (empty.length)
      sentences.push(said`${listed(empty.map(quoted))} may attend to nothing: weights and output
        are 0. ${late ? "Zeros after the softmax never make nan." : "With −∞ alone they would be nan."}`);
    const short = weights.filter((row) => sum(row) < 1 - 1e-6).length;
    if (short) sentences.push([`Rows that do not sum to 1: ${short}.`]);
    return sentences;
  }

  // A table with a row for each query and a column for each key; `cell(query, key)` makes what is
  // in it. `corner` has a line for what is at the rows and one for what is at the columns.
  function table(words, { name, title, side, corner, extra }, cell) {
    const heads = [...words.map(italian), ...(extra ? [extra] : [])].map((word) =>
      html("th", { scope: "col" }, word));
    const body = words.map((word, row) => html("tr", {},
      html("th", { scope: "row" }, italian(word)), ...heads.map((_, column) => cell(row, column))));
    return html("table", { class: `masking-table masking-${name}` },
      html("caption", {}, title, html("span", {}, side)),
      html("thead", {}, html("tr", {}, html("td", {}, corner), ...heads)),
      html("tbody", {}, ...body));
  }

  // A table of numbers, and `show`, which fills it.
  function numbersTable(words, texts) {
    const cells = words.map(() => []);
    const keep = (row, column) => (cells[row][column] = html("td"));
    const element = table(words, texts, keep);
    element.classList.add("explorer-result");
    function show(numbers) {
      numbers.forEach((row, i) => row.forEach((number, j) => {
        const cell = cells[i][j];
        cell.textContent = shown(number);
        cell.style.setProperty("--share", `${Math.round(42 * Math.min(1, number))}%`);
        cell.classList.toggle("masking-zero", !moving(number));
      }));
    }
    return { element, cells, show };
  }

  // The mask as buttons, and hands on them: a click or a key toggles a cell, and a mouse paints. A
  // finger taps; dragging it scrolls the page. `read` is the mask, `set` hears of a cell's new
  // value.
  function maskTable(words, read, set) {
    const buttons = words.map(() => []);
    const texts = { name: "mask", title: "Mask", side: "1: may attend", corner: "query ↓ key →" };
    const element = table(words, texts, (row, column) => {
      const place = { "data-cell": `${row},${column}`, tabindex: row + column ? -1 : 0 };
      const name = `query ${words[row]} may attend to key ${words[column]}`;
      const button = html("button", { type: "button", ...place, "aria-label": name });
      buttons[row][column] = button;
      return html("td", {}, button);
    });
    function reach([row, column]) {
      for (const other of buttons.flat()) other.tabIndex = -1;
      buttons[row][column].tabIndex = 0;
    }
    const toggled = ([row, column]) => !read()[row][column];
    const placeOf = (event) =>
      event.target.closest?.("[data-cell]")?.dataset.cell.split(",").map(Number);
    let [pointer, paint] = ["", null];
    element.addEventListener("pointerdown", (event) => {
      const place = placeOf(event);
      pointer = event.pointerType;
      if (!place || pointer !== "mouse" || event.button !== 0) return;
      paint = toggled(place);
      reach(place);
      set(place, paint);
    });
    element.addEventListener("pointerover", (event) => {
      const place = placeOf(event);
      if (place && paint !== null && event.buttons & 1) set(place, paint);
    });
    const lift = () => { paint = null; };
    document.addEventListener("pointerup", lift);
    element.addEventListener("dragstart", (event) => event.preventDefault());
    element.addEventListener("click", (event) => {
      const place = placeOf(event);
      const done = event.detail > 0 && pointer === "mouse"; // when the button went down
      if (!place || done) return;
      reach(place);
      set(place, toggled(place));
    });
    element.addEventListener("keydown", (event) => {
      const place = placeOf(event);
      const last = words.length - 1;
      const next = place && walked(event, place, [last, last]);
      if (!next) return;
      reach(next);
      buttons[next[0]][next[1]].focus();
    });
    const show = (mask) => buttons.forEach((row, query) => row.forEach((button, key) => {
      button.textContent = mask[query][key] ? "1" : "0";
      button.setAttribute("aria-pressed", mask[query][key]);
    }));
    return { element, show, stop: () => document.removeEventListener("pointerup", lift) };
  }

  function build({ model, choose, verdict, say }) {
    const words = model.get("words");
    if (model.get("mask") === undefined) model.set("mask", maskOf(model.get("preset"), words));

    // The mask of the buttons: a learner's function may have another idea of what a name means.
    function painted() {
      const { inputs, numbers } = model.get("computed") ?? {};
      const named = inputs?.preset === model.get("preset") && inputs.preset !== "own";
      return (named && numbers?.mask) || model.get("mask");
    }
    const mask = maskTable(words, painted, ([row, column], allowed) => {
      const before = painted();
      if (before[row][column] === allowed) return;
      const changed = before.map((line) => [...line]);
      changed[row][column] = allowed;
      choose({ preset: "own", mask: changed });
    });
    const weights = numbersTable(words, { name: "weights", title: "Weights", side: "rows: queries",
      corner: "query ↓ key →", extra: "sum" });
    for (const row of weights.cells) row[words.length].classList.add("masking-sum");
    const gradients = numbersTable(words, { name: "gradients", title: "What moves what",
      side: "size of the gradient", corner: "output ↓ input →" });

    const presets = chips(PRESETS, (i) =>
      choose({ preset: PRESETS[i], mask: maskOf(PRESETS[i], words) }));
    const late = checkbox("Mask after the softmax (zeros) instead of before it (−∞)", (on) =>
      choose({ late: on }));
    // a learner's function masks where it does
    const switches = model.get("computed") ? [] : [late.field];
    const controls = html("div", { class: "masking-controls" },
      html("fieldset", { class: "explorer-chips masking-presets" },
        html("legend", {}, "Start from"), ...presets.all), ...switches);

    function update(now, answer) {
      const seen = painted();
      const asked = answer?.inputs ?? { preset: "own", mask: seen, late: now.late };
      const result = outcome(model, asked, answer?.numbers);
      mask.show(seen);
      weights.show(result.weights.map((row) => [...row, sum(row)]));
      gradients.show(result.gradients);
      gradients.cells.forEach((row, output) => row.forEach((cell, input) => cell.classList
        .toggle("masking-leak", input > output && moving(result.gradients[output][input]))));
      presets.inputs.forEach((radio, i) => { radio.checked = PRESETS[i] === now.preset; });
      late.input.checked = now.late;
      const sentences = remarks(words, result.mask, now.late, result);
      say(sentences.map((sentence) => html("p", {}, ...sentence)),
        sentences.map((sentence) => [sentence, " "]));
    }
    const parts = [controls, mask.element, weights.element, gradients.element, verdict];
    const children = [html("div", { class: "masking-parts" }, ...parts)];
    return { update, children, stop: mask.stop };
  }

  mount("masking", { start, moved: ["mask"], compute, outcome, build, maskOf });
})();
