// A new stack of encoder layers, before any training: the gradient that reaches each layer, and how
// alike its positions have become. The numbers are measured and come with the state:
// stacks[initialisation][norm + (residual ? " residual" : "")][depth] holds, layer by layer,
// `gradients` [lowest, middle, highest of all seeds] and `likeness` (the middle).
(() => {
  const { change, html, draw, svg, figure, path, level, slider, checkbox, groupName, counted,
    mount } = globalThis.explorerKit;
  const start = { depth: 12, norm: "post", residual: true, initialisation: "Glorot" };
  const NORMS = { none: "no norm", post: "post-norm", pre: "pre-norm" };
  const DRAWN = { Glorot: "Glorot's rule", PyTorch: "PyTorch's default" };
  // of a plot, in SVG units
  const WIDTH = 640, HEIGHT = 250, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 32;
  const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸",
    9: "⁹" };

  const keyOf = ({ norm, residual }) => norm + (residual ? " residual" : "");
  const isSame = (one, other) =>
    keyOf(one) === keyOf(other) && one.initialisation === other.initialisation;

  // What was measured in a stack, and how much more of the gradient the first layer gets than the
  // last.
  function compute({ stacks, depth, norm, residual, initialisation }) {
    const { gradients, likeness } = stacks[initialisation][keyOf({ norm, residual })][depth];
    const [low, middle, high] = gradients;
    return { low, middle, high, likeness, ratio: middle[0] / middle[depth - 1] };
  }

  const power = (exponent) => `10${[...String(exponent)].map((sign) => RAISED[sign]).join("")}`;

  function sized(number) {
    if (number >= 0.01 && number < 1000) return String(Number(number.toPrecision(2)));
    const exponent = Math.floor(Math.log10(number));
    return `${(number / 10 ** exponent).toFixed(1)}·${power(exponent)}`;
  }

  // Powers of ten around some numbers, at least two apart, and not more of them than can be read.
  function decades(numbers) {
    let low = Math.floor(Math.log10(Math.min(...numbers)));
    let high = Math.ceil(Math.log10(Math.max(...numbers)));
    if (high - low < 2) [low, high] = [Math.min(low, -1), Math.max(high, 1)];
    const step = Math.ceil((high - low) / 6);
    return Array.from({ length: Math.ceil((high - low) / step) + 1 }, (_, i) => low + i * step)
      .map((exponent) => ({ value: 10 ** exponent, text: power(exponent) }));
  }

  const between = (value, low, high, from, to) =>
    from + ((value - low) / (high - low || 1)) * (to - from);

  function plot(caption) {
    const drawing = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const axes = draw(drawing, "g", {});
    const [band, ghost, line] = ["depth-band", "depth-ghost", "explorer-line"].map((name) =>
      draw(drawing, "path", { class: name }));
    const dots = draw(drawing, "g", {});

    // levels: values of the horizontal lines, with what is written beside them; the first and the
    // last are the ends of the scale.
    function show({ depth, middle, low, high, before, levels, scale }) {
      const x = (layer) => between(layer, 0.5, depth + 0.5, LEFT, WIDTH - RIGHT);
      const ends = [scale(levels[0].value), scale(levels.at(-1).value)];
      const within = (value) => Math.min(Math.max(scale(value), ends[0]), ends[1]);
      const y = (value) => between(within(value), ...ends, HEIGHT - BOTTOM, TOP);
      const points = (values) => values.map((value, i) => [x(i + 1), y(value)]);
      axes.replaceChildren();
      for (const { value, text } of levels)
        level(axes, { from: LEFT, to: WIDTH - RIGHT, at: y(value) }, text);
      const step = depth > 12 ? 4 : depth > 6 ? 2 : 1;
      for (let layer = 1; layer <= depth; layer += 1)
        if (layer === 1 || layer % step === 0)
          draw(axes, "text", { x: x(layer), y: HEIGHT - 9, "text-anchor": "middle" }, layer);
      change(line, { d: path(points(middle)) });
      change(ghost, { d: before ? path(points(before)) : "" });
      change(band, { d: low ? `${path([...points(high), ...points(low).reverse()])}Z` : "" });
      dots.replaceChildren();
      const dot = { r: depth > 12 ? 3.5 : 5, class: "depth-dot" };
      for (const [cx, cy] of points(middle)) draw(dots, "circle", { cx, cy, ...dot });
    }
    return { drawing, framed: figure(caption, drawing), show };
  }

  function build({ model, choose, verdict, say }) {
    const stacks = model.get("stacks");
    const depths = Object.keys(Object.values(Object.values(stacks)[0])[0]).map(Number);
    let before = null; // the kind of stack that was shown before this one
    const chooseKind = (changes) => {
      before = Object.fromEntries(
        ["norm", "residual", "initialisation"].map((each) => [each, model.get(each)]));
      choose(changes);
    };
    const layers = slider("Layers", { min: 0, max: depths.length - 1 }, (i) =>
      choose({ depth: depths[i] }));
    // one radio button for each value of a part of the state, in a row
    const choices = (part, label, texts) => {
      const name = groupName();
      const radios = Object.keys(texts).map((value) => {
        const onchange = () => chooseKind({ [part]: value });
        return html("input", { type: "radio", name, value, onchange });
      });
      const fields = radios.map((radio) =>
        html("label", { class: "explorer-switch" }, radio, texts[radio.value]));
      const row = html("div", { class: "depth-choices", role: "radiogroup", "aria-label": label },
        ...fields);
      const show = (chosen) => {
        for (const radio of radios) radio.checked = radio.value === chosen;
      };
      return { row, show };
    };
    const norms = choices("norm", "Norm", NORMS);
    const drawn = choices("initialisation", "Matrices drawn by", DRAWN);
    const residual = checkbox("residual connections", (on) => chooseKind({ residual: on }));
    const controls = html("div", { class: "depth-controls" }, layers.field,
      norms.row, residual.field, drawn.row);
    const gradients = plot("Gradient that reaches each layer (log scale)");
    const likeness = plot("Likeness of the positions after each layer");
    const note = html("p", { class: "explorer-note depth-note" });

    const called = (kind) => [NORMS[kind.norm], `${kind.residual ? "with" : "without"} residuals`,
      DRAWN[kind.initialisation]].join(", ");
    function update(now) {
      const found = compute({ stacks, ...now });
      const other = before && !isSame(before, now);
      const ghost = other ? compute({ stacks, ...before, depth: now.depth }) : null;
      const numbers = [...found.low, ...found.high, ...(ghost?.middle ?? [])];
      gradients.show({ ...found, depth: now.depth, before: ghost?.middle, scale: Math.log10,
        levels: decades(numbers) });
      likeness.show({ depth: now.depth, middle: found.likeness, before: ghost?.likeness,
        scale: (value) => value,
        levels: [0, 0.5, 1].map((value) => ({ value, text: String(value) })) });

      const counting = counted(now.depth, "layer");
      layers.show(depths.indexOf(now.depth), now.depth, counting);
      norms.show(now.norm);
      drawn.show(now.initialisation);
      residual.input.checked = now.residual;
      note.textContent = ghost ? `Dashed: ${called(before)}.`
        : "Band: from the lowest seed to the highest.";
      const [first, last] = [sized(found.middle[0]), sized(found.middle.at(-1))];
      const alike = [found.likeness[0], found.likeness.at(-1)].map((each) => each.toFixed(2));
      const gradient = `gradient ${first} at the first layer, ${last} at the last`;
      say(`${counting}, ${called(now)}: ${gradient}; likeness ${alike[1]} at the end.`);
      const falls = `from ${first} at the first to ${last} at the last`;
      change(gradients.drawing, { "aria-label": `Gradient by layer, ${falls}.` });
      const rises = `from ${alike[0]} to ${alike[1]}`;
      change(likeness.drawing, { "aria-label": `Likeness by layer, ${rises}.` });
    }
    return { update, children: [controls, gradients.framed, likeness.framed, note, verdict] };
  }

  mount("depth", { start, compute, build });
})();
