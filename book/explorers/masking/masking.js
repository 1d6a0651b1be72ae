// Paint a mask: a table of permissions, the weights that come of it, and which input can then move which output.
(() => {
  const START = {
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

  const times = (row, matrix) => matrix[0].map((_, column) => row.reduce((sum, number, i) => sum + number * matrix[i][column], 0));
  const dot = (one, other) => one.reduce((sum, number, i) => sum + number * other[i], 0);
  const transposed = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));

  // One row of weights, as in solutions/ch06_masking.py; or, with `late`, the softmax of all scores with zeros behind it.
  function weightsOf(scores, allowed, late) {
    const counted = scores.map((_, key) => late || allowed[key]);
    const largest = Math.max(...scores.filter((_, key) => counted[key]));
    const exponentials = scores.map((score, key) => (counted[key] ? Math.exp(score - largest) : 0));
    const total = exponentials.reduce((sum, number) => sum + number, 0);
    const shares = exponentials.map((number) => (total ? number / total : 0));
    return { shares, weights: shares.map((share, key) => (allowed[key] ? share : 0)) };
  }

  // Self-attention over x, and for each output and input the Frobenius norm of the Jacobian d output / d input. What is `given`
  // comes from elsewhere.
  function compute({ x, w_q, w_k, w_v, mask, late }, given = {}) {
    const [query, key, value] = [w_q, w_k, w_v].map((matrix) => x.map((row) => times(row, matrix)));
    const scale = Math.sqrt(query[0].length);
    const scores = query.map((q) => key.map((k) => dot(q, k) / scale));
    const rows = scores.map((row, at) => weightsOf(row, mask[at], late));
    const weights = rows.map((row) => row.weights);
    const output = weights.map((row) => times(row, value));
    const gradients = x.map((_, at) => {
      // of the output with respect to each score of its row: share * (value, where it counts, - output)
      const slopes = value.map((v, m) => v.map((number, o) => rows[at].shares[m] * ((mask[at][m] ? number : 0) - output[at][o])));
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

  // Also the mask: the one that is painted, or the one that its name stands for.
  function outcome(model, { preset, mask: painted, late = false }, given) {
    const fixed = Object.fromEntries(["x", "w_q", "w_k", "w_v"].map((name) => [name, model.get(name)]));
    const mask = given?.mask ?? (PRESETS.includes(preset) ? maskOf(preset, model.get("words")) : painted);
    return { mask, ...compute({ ...fixed, mask, late }, given) };
  }

  const SMALLEST = 1e-12; // less than this is rounding
  const shown = (number) => (number < SMALLEST ? "0" : number < 0.005 ? "<.01" : number.toFixed(2));
  const quoted = (word) => `“${word}”`;
  const listed = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function render({ model, el }) {
    for (const [name, value] of Object.entries(START)) if (model.get(name) === undefined) model.set(name, value);
    const words = model.get("words");
    if (model.get("mask") === undefined) model.set("mask", maskOf(model.get("preset"), words));
    const choose = (changes) => {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes();
    };

    // A table with a row for each query and a column for each key; `cell(query, key)` makes what stands in it.
    function table(name, title, side, corner, cell, extra) {
      const heads = [...words, ...(extra ? [extra] : [])].map((word) => html("th", { scope: "col" }, word));
      const body = words.map((word, row) =>
        html("tr", {}, html("th", { scope: "row" }, word), ...heads.map((_, column) => cell(row, column))));
      return html("table", { class: `masking-table masking-${name}` }, html("caption", {}, title, html("span", {}, side)),
        html("thead", {}, html("tr", {}, html("td", {}, corner), ...heads)), html("tbody", {}, ...body));
    }
    const grid = () => words.map(() => []);
    const [buttons, weightCells, gradientCells] = [grid(), grid(), grid()];
    const keep = (cells) => (row, column) => (cells[row][column] = html("td"));
    const maskTable = table("mask", "Mask", "1: may attend", "query ↓ key →", (row, column) => {
      const button = html("button", { type: "button", "data-cell": `${row},${column}`, tabindex: row + column ? -1 : 0 });
      buttons[row][column] = button;
      return html("td", {}, button);
    });
    const weightTable = table("weights", "Weights", "rows: queries", "query ↓ key →", keep(weightCells), "sum");
    const gradientTable = table("gradients", "What moves what", "size of the gradient", "output ↓ input →", keep(gradientCells));

    const group = `masking-${Math.random().toString(36).slice(2)}`;
    const radios = PRESETS.map((preset) => html("input", { type: "radio", name: group, value: preset }));
    const presets = html("fieldset", { class: "masking-presets" }, html("legend", {}, "Start from"),
      ...radios.map((radio, i) => html("label", {}, radio, html("span", {}, PRESETS[i]))));
    const late = html("input", { type: "checkbox" });
    const controls = html("div", { class: "masking-controls" }, presets,
      // where the mask acts is a learner's own affair
      ...(model.get("computed") ? [] : [html("label", { class: "masking-switch" }, late, html("span", {}, "Mask behind the softmax (zeros) instead of before it (−∞)"))]));
    const verdict = html("div", { class: "masking-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "masking-spoken", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root masking" },
      html("div", { class: "masking-parts" }, controls, maskTable, weightTable, gradientTable, verdict, spoken)));

    // What there is to say of a mask, as sentences.
    function remarks(mask, { weights, gradients }) {
      const moves = (input, output) => gradients[output][input] >= SMALLEST;
      const said = [];
      const ahead = words.flatMap((_, output) => words.flatMap((_, input) => (input > output && moves(input, output) ? [[output, input]] : [])));
      const [first] = ahead;
      said.push(first
        ? `A leak, if this is a decoder: ${quoted(words[first[1]])} moves the output of ${quoted(words[first[0]])}, before which it must not be known. ` +
          `Pairs like this: ${ahead.length}.`
        : "No output is moved by a later word.");
      const pad = words.findIndex(padding);
      if (pad >= 0) {
        const touched = words.filter((_, output) => output !== pad && moves(pad, output)).map(quoted);
        said.push(touched.length ? `Padding moves the output of ${listed(touched)}.` : "Padding moves no word’s output.");
      }
      const empty = words.filter((_, row) => !mask[row].some(Boolean)).map(quoted);
      if (empty.length) said.push(`${listed(empty)} may attend to nothing: weights and output are 0. With −∞ alone they would be nan.`);
      const short = weights.filter((row, at) => mask[at].some(Boolean) && row.reduce((a, b) => a + b) < 1 - 1e-6).length;
      if (short) said.push(`Rows that do not sum to 1: ${short}.`);
      return said;
    }

    // The mask of the buttons: a learner's function may have another idea of what a name stands for.
    function painted() {
      const { inputs, numbers } = model.get("computed") ?? {};
      return (inputs?.preset === model.get("preset") && inputs.preset !== "own" && numbers?.mask) || model.get("mask");
    }

    let timer;
    function update() {
      const mask = painted();
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const asked = answer?.inputs ?? { preset: "own", mask, late: model.get("late") };
      const result = outcome(model, asked, answer?.numbers);
      words.forEach((query, row) => {
        words.forEach((key, column) => {
          const button = buttons[row][column];
          button.textContent = mask[row][column] ? "1" : "0";
          button.setAttribute("aria-pressed", mask[row][column]);
          button.setAttribute("aria-label", `query ${query} may attend to key ${key}`);
          const [weight, gradient] = [result.weights[row][column], result.gradients[row][column]];
          for (const [cell, number] of [[weightCells[row][column], weight], [gradientCells[row][column], gradient]]) {
            cell.textContent = shown(number);
            cell.style.setProperty("--share", `${Math.round(42 * Math.min(1, number))}%`);
            cell.classList.toggle("masking-zero", number < SMALLEST);
          }
          gradientCells[row][column].classList.toggle("masking-leak", column > row && gradient >= SMALLEST);
        });
        weightCells[row][words.length].textContent = shown(result.weights[row].reduce((sum, number) => sum + number, 0));
        weightCells[row][words.length].classList.add("masking-sum");
      });
      radios.forEach((radio) => { radio.checked = radio.value === model.get("preset"); });
      late.checked = model.get("late");
      const said = remarks(result.mask, result);
      verdict.replaceChildren(...said.map((sentence) => html("p", {}, sentence)));
      clearTimeout(timer); // speak when the hand rests
      timer = setTimeout(() => { spoken.textContent = said.join(" "); }, 400);
    }

    // Hands: a click or a key toggles a cell, and a mouse paints. A finger taps; dragging it scrolls the page.
    function set(row, column, allowed) {
      const before = painted();
      if (before[row][column] === allowed) return;
      const mask = before.map((line, r) => line.map((old, c) => (r === row && c === column ? allowed : old)));
      choose({ preset: "own", mask });
    }
    function reach(button) {
      for (const other of buttons.flat()) other.tabIndex = other === button ? 0 : -1;
    }
    const placeOf = (target) => target.closest?.("[data-cell]")?.dataset.cell.split(",").map(Number);
    let [pointer, paint] = ["", null];
    maskTable.addEventListener("pointerdown", (event) => {
      const place = placeOf(event.target);
      pointer = event.pointerType;
      if (!place || pointer !== "mouse" || event.button !== 0) return;
      paint = !painted()[place[0]][place[1]];
      reach(buttons[place[0]][place[1]]);
      set(...place, paint);
    });
    maskTable.addEventListener("pointerover", (event) => {
      const place = placeOf(event.target);
      if (place && paint !== null && event.buttons & 1) set(...place, paint);
    });
    const lift = () => { paint = null; };
    document.addEventListener("pointerup", lift);
    maskTable.addEventListener("dragstart", (event) => event.preventDefault());
    maskTable.addEventListener("click", (event) => {
      const place = placeOf(event.target);
      if (!place || (event.detail > 0 && pointer === "mouse")) return; // the mouse has done it already
      reach(buttons[place[0]][place[1]]);
      set(...place, !painted()[place[0]][place[1]]);
    });
    maskTable.addEventListener("keydown", (event) => {
      const place = placeOf(event.target);
      if (!place) return;
      const [row, column] = place;
      const last = words.length - 1;
      const next = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
        Home: [event.ctrlKey ? 0 : row, 0], End: [event.ctrlKey ? last : row, last] }[event.key];
      if (!next) return;
      event.preventDefault();
      const button = buttons[Math.min(Math.max(next[0], 0), last)][Math.min(Math.max(next[1], 0), last)];
      reach(button);
      button.focus();
    });
    for (const radio of radios)
      radio.addEventListener("change", () => choose({ preset: radio.value, mask: maskOf(radio.value, words) }));
    late.addEventListener("change", () => choose({ late: late.checked }));

    const events = ["mask", "late", "preset", "computed"].map((name) => `change:${name}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      document.removeEventListener("pointerup", lift);
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.masking = { render, compute, maskOf, outcome };
})();
