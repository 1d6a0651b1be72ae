// A stack of encoder layers, drawn and trained while the reader watches: what each position still
// has for itself after each layer, the gradient that reaches each layer, and the loss.
(() => {
  const { change, html, draw, svg, figure, path, level, slider, checkbox, button, groupName,
    counted, mount } = globalThis.explorerKit;
  const { make, look, advance } = globalThis.stackOfLayers;
  const start = { depth: 12, norm: "post", residual: true, factor: 1, rate: 0.003, seed: 1 };
  const KINDS = ["depth", "norm", "residual", "factor", "rate", "seed"];
  const NORMS = { none: "no norm", post: "post-norm", pre: "pre-norm" };
  const DEPTHS = [1, 2, 4, 6, 12, 18, 24];
  const FACTORS = [[0.1, "0.1"], [0.2, "0.2"], [1 / 3, "1/3"], [0.5, "0.5"], [0.7, "0.7"],
    [1, "1"], [1.4, "1.4"]];
  const RATES = [0.0001, 0.0003, 0.001, 0.003, 0.01];
  const LAST = 1000; // steps, after which the training rests
  const PATIENCE = 25; // milliseconds of training between two pictures
  const ROUNDING = 2 ** -24; // numbers of 32 bits are exact to this share of themselves
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  const power = (exponent) =>
    `10${[...String(exponent)].map((sign) => RAISED[sign] ?? "⁻").join("")}`;

  function sized(number) {
    if (number >= 0.01 && number < 1000) return String(Number(number.toPrecision(2)));
    const exponent = Math.floor(Math.log10(number));
    return `${(number / 10 ** exponent).toFixed(1)}·${power(exponent)}`;
  }

  // A plot with fixed ends, so that two stacks can be compared by eye.
  //   levels: values of the horizontal lines, with what is written beside them.
  //   [low, high]: the ends of the scale; what is beyond is drawn at them.
  function plot(caption, { width = 320, height = 200, left = 46, right = 8, levels, ends, scale }) {
    const [top, bottom] = [10, 26];
    const kind = width > 320 ? "depth-wide" : "";
    const drawing = svg(width, height, { class: `explorer-plot ${kind}` });
    const [low, high] = ends.map(scale);
    const y = (value) => {
      const share = (Math.min(Math.max(scale(value), low), high) - low) / (high - low);
      return height - bottom - share * (height - bottom - top);
    };
    for (const { value, text, mark } of levels) {
      const line = { from: left, to: width - right, at: y(value), gap: 6 };
      if (!mark) level(drawing, line, text);
      else {
        level(drawing, { ...line, class: "depth-mark" }, "");
        const place = { x: width - right - 4, y: y(value) - 5, "text-anchor": "end" };
        draw(drawing, "text", { ...place, class: "depth-name" }, text);
      }
    }
    const names = draw(drawing, "g", {});
    const [ghost, line] = ["depth-ghost", "explorer-line"].map((name) =>
      draw(drawing, "path", { class: name }));
    const dots = draw(drawing, "g", {});
    // numbers: one for each place from 1 to `count`; `before` likewise, dashed.
    function show({ numbers, before, count, step, dotted = true }) {
      const x = (place) => left + ((place - 0.5) / count) * (width - left - right);
      const points = (all) => all.map((number, i) => [x(i + 1), y(number)]);
      names.replaceChildren();
      for (let place = 1; place <= count; place += 1)
        if (place % step === 0 || (place === 1 && dotted))
          draw(names, "text", { x: x(place), y: height - 6, "text-anchor": "middle" }, place);
      change(line, { d: path(points(numbers)) });
      change(ghost, { d: before ? path(points(before)) : "" });
      dots.replaceChildren();
      for (const [cx, cy] of dotted ? points(numbers) : [])
        draw(dots, "circle", { cx, cy, r: count > 12 ? 2.5 : 3.5, class: "depth-dot" });
    }
    return { drawing, framed: figure(caption, drawing), show };
  }

  const decades = (...exponents) =>
    exponents.map((exponent) => ({ value: 10 ** exponent, text: power(exponent) }));

  function build({ model, choose, verdict, say }) {
    let stack = null; // that of the settings `made`, as far as it is trained
    let made = "", called = () => [], seen = null, earlier = null, timer = null;

    const layers = slider("Layers", { min: 0, max: DEPTHS.length - 1 }, (i) =>
      choose({ depth: DEPTHS[i] }));
    const written = (factor) =>
      FACTORS.find(([value]) => value === factor)?.[1] ?? sized(factor);
    const matrices = () => ["W", html("sup", {}, "O"), " and W", html("sub", {}, "2"), " times"];
    const factor = slider(matrices(), { min: 0, max: FACTORS.length - 1 }, (i) =>
      choose({ factor: FACTORS[i][0] }));
    const rate = slider("Learning rate", { min: 0, max: RATES.length - 1 }, (i) =>
      choose({ rate: RATES[i] }));
    const name = groupName();
    const radios = Object.keys(NORMS).map((value) =>
      html("input", { type: "radio", name, value, onchange: () => choose({ norm: value }) }));
    const norms = html("div", { class: "depth-choices", role: "radiogroup", "aria-label": "Norm" },
      ...radios.map((radio) =>
        html("label", { class: "explorer-switch" }, radio, NORMS[radio.value])));
    const residual = checkbox("residual connections", (on) => choose({ residual: on }));
    const go = button("Train", () => (timer ? rest() : train()));
    const buttons = html("div", { class: "explorer-buttons" }, go,
      button("One step", () => { rest(); trainOnce(); show(); }),
      button("Before training", () => { rest(); begin(); show(); }),
      button("Other random numbers", () => choose({ seed: model.get("seed") + 1 })));
    const sliders = html("div", { class: "explorer-controls" },
      ...[layers, factor, rate].map(({ field }) => field));
    const choices = html("div", { class: "depth-choices" }, norms, residual.field);

    const own = plot("Own share after each layer", { ends: [1e-8, 1], scale: Math.log10,
      levels: [...decades(0, -2, -4, -6), { value: ROUNDING, mark: true, text: "lost below" }] });
    const gradient = plot("Gradient that reaches each layer",
      { ends: [1e-4, 1e2], scale: Math.log10, levels: decades(2, 0, -2, -4) });
    const losses = plot("Loss (mean of ten steps)", { width: 660, right: 24, ends: [0, 2.5],
      scale: (loss) => loss, levels: [...[0, 1, 2].map((value) => ({ value, text: value })),
        ...Object.entries(model.get("levels") ?? {}).map(([text, value]) =>
          ({ value, text, mark: true }))] });
    const plots = html("div", { class: "depth-plots" }, own.framed, gradient.framed);
    const note = html("p", { class: "explorer-note depth-note" });

    function begin() {
      stack = make(Object.fromEntries(KINDS.map((each) => [each, model.get(each)])));
      seen = look(stack);
      stack.losses = [seen.loss];
      stack.first = seen;
    }

    function trainOnce() {
      if (!Number.isFinite(seen.loss)) return;
      advance(stack);
      seen = look(stack);
      stack.losses.push(seen.loss);
    }

    function train() {
      go.textContent = "Stop";
      const onward = () => {
        const until = performance.now() + PATIENCE;
        do trainOnce();
        while (performance.now() < until);
        if (Number.isFinite(seen.loss) && stack.step < LAST) timer = requestAnimationFrame(onward);
        else rest();
        show();
      };
      timer = requestAnimationFrame(onward);
    }

    function rest() {
      cancelAnimationFrame(timer);
      timer = null;
      go.textContent = "Train";
    }

    // Losses, each the mean of itself and up to nine before it.
    const smooth = (all) => all.map((_, i) => {
      const few = all.slice(Math.max(0, i - 9), i + 1);
      return few.reduce((total, each) => total + each, 0) / few.length;
    });

    function show() {
      const { step, layers: { length: depth } } = stack;
      const before = step ? stack.first : earlier?.seen;
      const fits = before?.own.length === depth ? before : null;
      const axis = { count: depth, step: depth > 12 ? 4 : depth > 6 ? 2 : 1 };
      own.show({ ...axis, numbers: seen.own, before: fits?.own });
      gradient.show({ ...axis, numbers: seen.gradients, before: fits?.gradients });
      const count = Math.max(100, 100 * Math.ceil(step / 100));
      const mean = smooth(stack.losses).filter(Number.isFinite);
      losses.show({ count, step: count / 5, dotted: false, numbers: mean });
      note.replaceChildren(...!fits
        ? ["A gradient below 10⁻⁴ or above 10² is drawn at the edge."] : step
        ? ["Dashed: before training."] : ["Dashed: before, ", ...earlier.called(), "."]);

      const share = seen.own.at(-1), loss = mean.at(-1);
      const kept = share > ROUNDING ? `own share ${sized(share)} after the last layer`
        : "own share lost after the last layer";
      const [first, last] = [seen.gradients[0], seen.gradients.at(-1)].map((each) =>
        (each > 0 ? sized(each) : Number.isFinite(each) ? "0" : "not a number"));
      const reached = `gradient ${first} at the first layer, ${last} at the last`;
      const lost = Number.isFinite(seen.loss) ? `loss ${sized(loss)}` : "the loss is not a number";
      const when = step ? `After ${counted(step, "step")}` : "Before training";
      say([...called(), `. ${when}: ${lost}; ${kept}; ${reached}.`]);
      change(own.drawing, { "aria-label": `By layer, ${kept}.` });
      change(gradient.drawing, { "aria-label": `By layer, ${reached}.` });
      change(losses.drawing, { "aria-label": `Loss by step: ${lost} after ${step}.` });
    }

    function update(now) {
      const settings = JSON.stringify(KINDS.map((each) => now[each]));
      const times = written(now.factor);
      if (settings !== made) {
        rest();
        earlier = stack && { seen: stack.first, called };
        made = settings;
        const kind = [counted(now.depth, "layer"), NORMS[now.norm],
          ...now.residual ? [] : ["no residuals"], ""].join(", ");
        called = () => [kind, ...matrices(), ` ${times}`];
        begin();
      }
      const counting = counted(now.depth, "layer");
      layers.show(DEPTHS.indexOf(now.depth), now.depth, counting);
      factor.show(FACTORS.findIndex(([value]) => value === now.factor), times, times);
      rate.show(RATES.indexOf(now.rate), now.rate, String(now.rate));
      for (const radio of radios) radio.checked = radio.value === now.norm;
      residual.input.checked = now.residual;
      show();
    }
    return { update, stop: rest,
      children: [sliders, choices, buttons, plots, losses.framed, note, verdict] };
  }

  mount("depth", { start, build, make, look, advance });
})();
