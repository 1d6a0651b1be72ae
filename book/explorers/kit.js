// What explorers share. It comes before them: in a page by a tag of its own, in a notebook at the
// head of the explorer's module.
globalThis.explorers ??= {};
globalThis.explorerKit ??= (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const REST = 400; // milliseconds without a change until a screen reader hears of it
  const ACTS = ["pointerdown", "keydown", "click", "input", "change"];

  // Elements.

  function change(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  // An attribute called on... listens; one that is false or missing is left out.
  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
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

  function svg(width, height, attributes = {}) {
    const element = document.createElementNS(SVG, "svg");
    change(element, { viewBox: `0 0 ${width} ${height}`, role: "img", ...attributes });
    return element;
  }

  const figure = (caption, ...children) =>
    html("figure", { class: "explorer-result" }, html("figcaption", {}, ...[caption].flat()),
      ...children);

  // The path through points of an SVG.
  const path = (points) =>
    points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

  // A horizontal line of a plot, with what it means on its left.
  function level(parent, { from, to, at, gap = 8, ...attributes }, text) {
    const line = { x1: from, x2: to, y1: at, y2: at, class: "explorer-grid", ...attributes };
    draw(parent, "line", line);
    draw(parent, "text", { x: from - gap, y: at + 6, "text-anchor": "end" }, text);
  }

  // The head of a table; a column without a name is for the eye alone.
  const headings = (names) =>
    html("thead", {}, html("tr", {}, ...names.map((name) =>
      name ? html("th", { scope: "col" }, name) : html("td", { "aria-hidden": "true" }))));

  // A cell with a bar, and the function that sets the bar's length, from 0 to 1.
  function bar() {
    const filled = html("span", { class: "explorer-bar" });
    const track = html("td", { class: "explorer-track", "aria-hidden": "true" }, filled);
    const fill = (share) => { filled.style.width = `${100 * share}%`; };
    return { track, fill };
  }

  // A bar in parts, and a table of them. `show` takes the parts, what fills the bar, how a part is
  // written, and perhaps a limit, which the parts should not pass.
  function stack(names, colours) {
    const parts = colours.map((colour) => html("span", { class: `explorer-part ${colour}` }));
    const limit = html("span", { class: "explorer-limit", hidden: true });
    const whole = html("div", { class: "explorer-stack", "aria-hidden": "true" }, ...parts, limit);
    const cells = names.map(() => html("td"));
    const rows = names.map((name, i) => html("tr", {}, html("th", { scope: "row" },
      html("span", { class: `explorer-key ${colours[i]}`, "aria-hidden": "true" }), ` ${name}`),
      cells[i]));
    const table = html("table", { class: "explorer-sizes" }, html("tbody", {}, ...rows));
    const caption = html("figcaption", {});
    function show(sizes, length, written, most = null) {
      sizes.forEach((size, i) => {
        parts[i].style.width = `${(100 * size) / length}%`;
        cells[i].textContent = written(size);
      });
      limit.hidden = most === null;
      limit.style.left = `${(100 * most) / length}%`;
      whole.classList.toggle("explorer-over", most !== null && sum(sizes) > most);
    }
    return { caption, show, framed: html("figure", { class: "explorer-result" }, caption, whole,
      table) };
  }

  // Controls. `moved` hears of what the reader does.

  // Its `show` takes a value, how it is written beside the name, and how it is said.
  function slider(text, settings, moved) {
    const number = html("span", { class: "explorer-number", "aria-hidden": "true" });
    const oninput = () => moved(Number(input.value));
    const input = html("input", { type: "range", step: 1, ...settings, oninput });
    const name = html("span", {}, ...[text].flat(), " ", number);
    const field = html("label", { class: "explorer-field" }, name, input);
    function show(value, written = value, said = null) {
      input.value = value;
      number.textContent = written;
      if (said !== null) input.setAttribute("aria-valuetext", said);
    }
    return { input, field, show };
  }

  function picker(text, options, moved) {
    const choices = options.map((option, i) => html("option", { value: i }, option));
    const onchange = () => moved(Number(input.value));
    const input = html("select", { class: "explorer-button", onchange }, ...choices);
    const field = html("label", { class: "explorer-field" }, html("span", {}, text), input);
    return { input, field };
  }

  function checkbox(text, moved) {
    const input = html("input", { type: "checkbox", onchange: () => moved(input.checked) });
    const name = html("span", {}, ...[text].flat());
    return { input, field: html("label", { class: "explorer-switch" }, input, name) };
  }

  const button = (text, onclick, extra = "") =>
    html("button", { type: "button", class: `explorer-button ${extra}`, onclick }, text);

  let groups = 0;
  const groupName = () => `explorer-group-${(groups += 1)}`;

  // Radio buttons that look like chips: `labels` are what is on each, a text or elements.
  function chips(labels, moved) {
    const name = groupName();
    const inputs = labels.map((_, i) =>
      html("input", { type: "radio", name, value: i, onchange: () => moved(i) }));
    const all = labels.map((label, i) =>
      html("label", { class: "explorer-chip" }, inputs[i], html("span", {}, ...[label].flat())));
    return { inputs, all };
  }

  // Two buttons that go a step back or on. A disabled button would lose the keyboard: the other has
  // it.
  function stepper(onward, go) {
    const back = button("Back", () => move(-1));
    const next = button(onward, () => move(1));
    function move(by) {
      go(by);
      if (next.disabled && document.activeElement === next) back.focus();
      if (back.disabled && document.activeElement === back) next.focus();
    }
    function show(step, count) {
      back.disabled = step === 1;
      next.disabled = step === count;
    }
    return { field: html("div", { class: "explorer-buttons" }, back, next), show };
  }

  // Where a key leads in a table from [row, column]; nowhere if it is no key for that.
  function walked(event, [row, column], [lastRow, lastColumn]) {
    const goal = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? lastRow : row, lastColumn],
    }[event.key];
    if (!goal) return null;
    event.preventDefault();
    return goal.map((place, i) => Math.min(Math.max(place, 0), [lastRow, lastColumn][i]));
  }

  // Numbers and words.

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const largestAt = (numbers) => numbers.indexOf(Math.max(...numbers));

  function softmax(scores) {
    const largest = Math.max(...scores);
    const exponentials = scores.map((score) => Math.exp(score - largest));
    const total = sum(exponentials);
    return exponentials.map((number) => number / total);
  }

  // A number with a true minus sign, and none before a zero.
  const shown = (number, decimals = 2) =>
    number.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  const counted = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;
  const listed = (words) => words.flatMap((word, i) =>
    [i === 0 ? "" : i === words.length - 1 ? " and " : ", ", word]);

  // Italian, so that a screen reader pronounces it so. Signs like <bos> belong to no language.
  const italian = (text) => html("span", /^“?</.test(text) ? {} : { lang: "it" }, text);
  // A sentence of texts and elements: said`It wrote ${italian("gatto")}.`
  const said = (texts, ...parts) => texts
    .flatMap((text, i) => [text.replace(/\s*\n\s*/g, " "), parts[i] ?? ""]).flat(Infinity);

  // What an explorer says: a sentence to see, and the same for screen readers. They can read it
  // from the start, but hear of changes only when the reader has done something, and when the hand
  // rests.
  function speaker(el) {
    const verdict = html("div", { class: "explorer-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "explorer-spoken" });
    const stop = whenUsed(el, () => spoken.setAttribute("aria-live", "polite"));
    let timer;
    const copy = (piece) => (piece instanceof Node ? piece.cloneNode(true) : piece);
    function say(sentence, aloud = sentence) {
      verdict.replaceChildren(...[sentence].flat(Infinity));
      const heard = html("p", {}, ...[aloud].flat(Infinity).map(copy));
      const speak = () => {
        if (heard.textContent !== spoken.textContent) spoken.replaceChildren(...heard.childNodes);
      };
      clearTimeout(timer);
      if (spoken.hasAttribute("aria-live")) timer = setTimeout(speak, REST);
      else speak();
    }
    return { verdict, spoken, say, stop: () => { clearTimeout(timer); stop(); } };
  }

  // Calls `begin` when the reader first does something in `el`; returns the function that ends
  // this.
  function whenUsed(el, begin) {
    const end = () => ACTS.forEach((act) => el.removeEventListener(act, used, true));
    function used() {
      end();
      begin();
    }
    ACTS.forEach((act) => el.addEventListener(act, used, true));
    return end;
  }

  // Registers an explorer under its name.
  //   start: its state where neither page nor notebook gives another; `moved` names what else
  //     changes.
  //   build({ model, el, choose, redraw, verdict, say }): draws what stays. It returns `children`,
  //     and `update(now, answer)`, which draws what changes: `now` is the state, and `answer`, in a
  //     notebook, what the learner's function made of `answer.inputs`.
  //   Whatever else is given can be asked for by its name: `compute`, and `outcome` for notebooks.
  function mount(name, { start = {}, moved = [], build, ...others }) {
    const keys = [...Object.keys(start), ...moved];
    const events = [...keys, "computed"].map((key) => `change:${key}`);
    function render({ model, el }) {
      for (const [key, value] of Object.entries(start))
        if (model.get(key) === undefined) model.set(key, value);
      const choose = (changes) => {
        for (const [key, value] of Object.entries(changes)) model.set(key, value);
        model.save_changes();
      };
      const { verdict, spoken, say, stop } = speaker(el);
      const redraw = () => {
        const now = Object.fromEntries(keys.map((key) => [key, model.get(key)]));
        built.update(now, model.get("computed"));
      };
      const built = build({ model, el, choose, redraw, verdict, say });
      el.append(html("div", { class: `explorer-root ${name}` }, ...built.children, spoken));
      for (const event of events) model.on(event, redraw);
      redraw();
      return () => {
        stop();
        built.stop?.();
        for (const event of events) model.off(event, redraw);
      };
    }
    globalThis.explorers[name] = { ...others, render };
  }

  return {
    change, html, draw, svg, figure, path, level, headings, bar, stack,
    slider, picker, checkbox, button, chips, groupName, stepper, walked,
    sum, largestAt, softmax, shown, counted, listed, italian, said, whenUsed, mount,
  };
})();
