// A new stack of encoder layers, before any training: the gradient that reaches each layer, and how alike its positions have become.
// The numbers are measured by the page and come with the state: stacks[norm + (residual ? " residual" : "")][depth] holds, layer by layer,
// `gradients` [lowest, middle, highest of all seeds] and `likeness` (the middle).
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const START = { depth: 12, norm: "post", residual: true };
  const NORMS = [["none", "no norm"], ["post", "post-norm"], ["pre", "pre-norm"]];
  const WIDTH = 640, HEIGHT = 250, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 32; // of a plot, in SVG units

  const keyOf = ({ norm, residual }) => norm + (residual ? " residual" : "");

  // What was measured in a stack, and how much more of the gradient the first layer gets than the last.
  function compute({ stacks, depth, norm, residual }) {
    const { gradients, likeness } = stacks[keyOf({ norm, residual })][depth];
    const [low, middle, high] = gradients;
    return { low, middle, high, likeness, ratio: middle[0] / middle[depth - 1] };
  }

  const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const power = (exponent) => `10${[...String(exponent)].map((sign) => RAISED[sign]).join("")}`;

  const counted = (depth) => (depth === 1 ? "1 layer" : `${depth} layers`);

  function sized(number) {
    if (number >= 0.01 && number < 1000) return String(Number(number.toPrecision(2)));
    const exponent = Math.floor(Math.log10(number));
    return `${(number / 10 ** exponent).toFixed(1)}·${power(exponent)}`;
  }

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

  const span = (value, low, high, from, to) => from + ((value - low) / (high - low || 1)) * (to - from);

  function plot(caption) {
    const svg = document.createElementNS(SVG, "svg");
    change(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "depth-plot" });
    const axes = draw(svg, "g", {});
    const [band, ghost, line] = ["band", "ghost", "line"].map((name) => draw(svg, "path", { class: `depth-${name}` }));
    const dots = draw(svg, "g", {});
    const figure = html("figure", {}, html("figcaption", {}, caption), svg);

    // levels: values of the horizontal lines, with what is written beside them; the first and the last are the ends of the scale.
    function show({ depth, middle, low, high, before, levels, scale }) {
      const x = (layer) => span(layer, 0.5, depth + 0.5, LEFT, WIDTH - RIGHT);
      const ends = [scale(levels[0].value), scale(levels.at(-1).value)];
      const y = (value) => span(Math.min(Math.max(scale(value), ends[0]), ends[1]), ...ends, HEIGHT - BOTTOM, TOP);
      const path = (values) => values.map((value, i) => `${i ? "L" : "M"}${x(i + 1).toFixed(1)} ${y(value).toFixed(1)}`).join("");
      axes.replaceChildren();
      for (const { value, text } of levels) {
        draw(axes, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "depth-grid" });
        draw(axes, "text", { x: LEFT - 8, y: y(value) + 6, "text-anchor": "end" }, text);
      }
      const step = depth > 12 ? 4 : depth > 6 ? 2 : 1;
      for (let layer = 1; layer <= depth; layer += 1)
        if (layer === 1 || layer % step === 0) draw(axes, "text", { x: x(layer), y: HEIGHT - 9, "text-anchor": "middle" }, layer);
      line.setAttribute("d", path(middle));
      ghost.setAttribute("d", before ? path(before) : "");
      const back = low ? [...high.keys()].reverse().map((i) => `L${x(i + 1).toFixed(1)} ${y(low[i]).toFixed(1)}`).join("") : "";
      band.setAttribute("d", low ? `${path(high)}${back}Z` : "");
      dots.replaceChildren();
      middle.forEach((value, i) => draw(dots, "circle", { cx: x(i + 1), cy: y(value), r: depth > 12 ? 3.5 : 5, class: "depth-dot" }));
    }
    return { svg, figure, show };
  }

  // Powers of ten around some numbers, at least two apart, and not more of them than can be read.
  function decades(numbers) {
    let [low, high] = [Math.floor(Math.log10(Math.min(...numbers))), Math.ceil(Math.log10(Math.max(...numbers)))];
    if (high - low < 2) [low, high] = [Math.min(low, -1), Math.max(high, 1)];
    const step = Math.ceil((high - low) / 6);
    return Array.from({ length: Math.ceil((high - low) / step) + 1 }, (_, i) => low + i * step)
      .map((exponent) => ({ value: 10 ** exponent, text: power(exponent) }));
  }

  function render({ model, el }) {
    for (const [key, value] of Object.entries(START)) if (model.get(key) === undefined) model.set(key, value);
    const stacks = model.get("stacks");
    const depths = Object.keys(Object.values(stacks)[0]).map(Number);
    let before = null; // the kind of stack that was shown before this one
    const state = () => ({ depth: model.get("depth"), norm: model.get("norm"), residual: model.get("residual") });
    const choose = (key, value) => {
      if (key !== "depth") before = state();
      model.set(key, value);
      model.save_changes();
    };

    const number = html("span", { class: "depth-number", "aria-hidden": "true" });
    const slider = html("input", { type: "range", min: 0, max: depths.length - 1, step: 1 });
    const name = `depth-norm-${Math.random().toString(36).slice(2)}`;
    const radios = NORMS.map(([value, text]) => {
      const input = html("input", { type: "radio", name, value });
      input.addEventListener("change", () => choose("norm", value));
      return { value, input, label: html("label", { class: "depth-choice" }, input, text) };
    });
    const residual = html("input", { type: "checkbox" });
    const controls = html("div", { class: "depth-controls" },
      html("label", { class: "depth-field" }, html("span", {}, "Layers ", number), slider),
      html("div", { class: "depth-choices", role: "radiogroup", "aria-label": "Norm" }, ...radios.map(({ label }) => label)),
      html("label", { class: "depth-choice" }, residual, "residual connections"));
    const gradients = plot("Gradient that reaches each layer (log scale)");
    const likeness = plot("Likeness of the positions after each layer");
    const note = html("p", { class: "depth-note" });
    const verdict = html("p", { class: "depth-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "depth-spoken", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root depth" }, controls, gradients.figure, likeness.figure, note, verdict, spoken));

    const called = ({ norm, residual }) => `${NORMS.find(([value]) => value === norm)[1]}, ${residual ? "with" : "without"} residuals`;
    let timer;
    function update() {
      const now = state();
      const found = compute({ stacks, ...now });
      const ghost = before && keyOf(before) !== keyOf(now) ? compute({ stacks, ...before, depth: now.depth }) : null;
      gradients.show({ ...found, depth: now.depth, before: ghost?.middle, scale: Math.log10,
        levels: decades([...found.low, ...found.high, ...(ghost?.middle ?? [])]) });
      likeness.show({ depth: now.depth, middle: found.likeness, before: ghost?.likeness, scale: (value) => value,
        levels: [0, 0.5, 1].map((value) => ({ value, text: String(value) })) });

      slider.value = depths.indexOf(now.depth);
      slider.setAttribute("aria-valuetext", counted(now.depth));
      number.textContent = now.depth;
      for (const { value, input } of radios) input.checked = value === now.norm;
      residual.checked = now.residual;
      note.textContent = ghost ? `Dashed: ${called(before)}.` : "Band: from the lowest seed to the highest.";
      const [first, last] = [sized(found.middle[0]), sized(found.middle.at(-1))];
      const text = `${counted(now.depth)}, ${called(now)}: gradient ${first} at the first layer, ${last} at the last; ` +
        `likeness ${found.likeness.at(-1).toFixed(2)} at the end.`;
      verdict.textContent = text;
      gradients.svg.setAttribute("aria-label", `Gradient by layer, from ${first} at the first to ${last} at the last.`);
      likeness.svg.setAttribute("aria-label", `Likeness by layer, from ${found.likeness[0].toFixed(2)} to ${found.likeness.at(-1).toFixed(2)}.`);
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = text; }, 400);
    }

    slider.addEventListener("input", () => choose("depth", depths[Number(slider.value)]));
    residual.addEventListener("change", () => choose("residual", residual.checked));
    const events = Object.keys(START).map((key) => `change:${key}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      clearTimeout(timer);
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.depth = { render, compute };
})();
