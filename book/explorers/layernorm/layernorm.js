// One position with four features, before and after its layer norm.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const START = { x: [1, 9, 7, 7], eps: 1e-5, gain: 1, bias: 0 };
  const FARTHEST = 10; // of a feature, either way
  const SPREAD = 6; // of a result, either way: gain 2, bias 2 and the largest normalised number of four, the root of 3
  const WIDTH = 320, HEIGHT = 230, LEFT = 34, TOP = 12, BOTTOM = 26; // of a plot, in SVG units

  // The arithmetic of LayerNorm in solutions/ch07_layers.py for one position. What is `given` comes from elsewhere.
  function compute({ x, eps, weight, bias }, given) {
    const mean = x.reduce((sum, number) => sum + number, 0) / x.length;
    const variance = x.reduce((sum, number) => sum + (number - mean) ** 2, 0) / x.length;
    const divisor = Math.sqrt(variance + eps);
    const normalised = x.map((number) => (number - mean) / divisor);
    return { mean, variance, divisor, normalised, result: normalised.map((number, i) => number * weight[i] + bias[i]), ...given };
  }

  const outcome = (model, { x, eps, gain, bias }, given) => compute({ x, eps, weight: x.map(() => gain), bias: x.map(() => bias) }, given);

  const shown = (number, decimals = 2) => number.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  const plainly = (number) => (number < 1e-3 ? shown(number, 5) : String(Number(number.toPrecision(2))));

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

  function slider(text, settings) {
    const number = html("span", { class: "layernorm-number", "aria-hidden": "true" }); // the slider says it itself
    const input = html("input", { type: "range", ...settings });
    return { number, input, field: html("label", { class: "layernorm-field" }, html("span", {}, text, " ", number), input) };
  }

  // Four bars on a fixed scale, a band from mean − spread to mean + spread, and a line at the mean.
  function plot(caption, limit, ticks, kind) {
    const svg = document.createElementNS(SVG, "svg");
    change(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "layernorm-plot" });
    const y = (value) => TOP + ((limit - value) / (2 * limit)) * (HEIGHT - TOP - BOTTOM);
    const band = draw(svg, "rect", { x: LEFT, width: WIDTH - LEFT, class: "layernorm-band" });
    for (const tick of ticks) {
      draw(svg, "line", { x1: LEFT, x2: WIDTH, y1: y(tick), y2: y(tick), class: tick ? "layernorm-grid" : "layernorm-zero" });
      draw(svg, "text", { x: LEFT - 7, y: y(tick) + 5, "text-anchor": "end" }, shown(tick, 0));
    }
    const step = (WIDTH - LEFT) / START.x.length;
    const bars = START.x.map((_, i) => {
      const middle = LEFT + (i + 0.5) * step;
      draw(svg, "text", { x: middle, y: HEIGHT - 7, "text-anchor": "middle" }, i + 1);
      const bar = draw(svg, "rect", { x: middle - 0.3 * step, width: 0.6 * step, class: `layernorm-bar layernorm-${kind}` });
      return { bar, label: draw(svg, "text", { x: middle, "text-anchor": "middle", class: "layernorm-value" }) };
    });
    const line = draw(svg, "line", { x1: LEFT, x2: WIDTH, class: "layernorm-mean" });
    const figure = html("figure", {}, html("figcaption", {}, caption), svg);
    function show(numbers, mean, spread) {
      numbers.forEach((number, i) => {
        change(bars[i].bar, { y: y(Math.max(number, 0)), height: Math.abs(y(number) - y(0)) });
        change(bars[i].label, { y: number >= 0 ? y(number) - 5 : y(number) + 17 });
        bars[i].label.textContent = shown(number, 2);
      });
      change(line, { y1: y(mean), y2: y(mean) });
      const [top, bottom] = [Math.min(mean + spread, limit), Math.max(mean - spread, -limit)];
      change(band, { y: y(top), height: Math.max(y(bottom) - y(top), 0) });
      svg.setAttribute("aria-label", `${caption}: ${numbers.map((number) => shown(number, 2)).join(", ")}.`);
    }
    return { figure, show };
  }

  function render({ model, el }) {
    for (const [key, value] of Object.entries(START)) if (model.get(key) === undefined) model.set(key, value);
    const choose = (key, value) => {
      model.set(key, value);
      model.save_changes();
    };

    const features = START.x.map((_, i) => slider(`Feature ${i + 1}`, { min: -FARTHEST, max: FARTHEST, step: 0.5 }));
    const eps = slider("eps", { min: -5, max: 1, step: 1 });
    const gain = slider("Gain, the same for all four", { min: -2, max: 2, step: 0.1 });
    const bias = slider("Bias, the same for all four", { min: -2, max: 2, step: 0.1 });
    const button = (text, make) => {
      const element = html("button", { type: "button", class: "layernorm-button" }, text);
      element.addEventListener("click", () => choose("x", make(model.get("x"))));
      return element;
    };
    const buttons = html("div", { class: "layernorm-buttons" },
      button("Halve all four", (x) => x.map((number) => number / 2)),
      button("Make them equal", (x) => x.map(() => x[0])),
      button("Start again", () => START.x));
    const before = plot("Features of one position", FARTHEST + 2, [-10, -5, 0, 5, 10], "before");
    const after = plot("After the norm", SPREAD, [-4, -2, 0, 2, 4], "after");
    const verdict = html("p", { class: "layernorm-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "layernorm-spoken", "aria-live": "polite" });
    const sliders = html("div", { class: "layernorm-controls" }, ...[...features, eps, gain, bias].map(({ field }) => field));
    const plots = html("div", { class: "layernorm-plots" }, before.figure, after.figure);
    el.append(html("div", { class: "explorer-root layernorm" }, plots, sliders, buttons, verdict, spoken));

    let timer;
    function update() {
      const now = Object.fromEntries(Object.keys(START).map((name) => [name, model.get(name)]));
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const asked = answer?.inputs ?? now;
      const found = outcome(model, asked, answer?.numbers);
      const middle = answer ? found.result.reduce((sum, number) => sum + number, 0) / found.result.length : now.bias;
      const spread = Math.sqrt(found.result.reduce((sum, number) => sum + (number - middle) ** 2, 0) / found.result.length);
      before.show(asked.x, found.mean, Math.sqrt(found.variance));
      after.show(found.result, middle, spread);

      features.forEach(({ input, number }, i) => {
        input.value = now.x[i];
        number.textContent = shown(now.x[i], 2);
      });
      eps.input.value = Math.log10(now.eps);
      eps.number.textContent = plainly(now.eps);
      eps.input.setAttribute("aria-valuetext", plainly(now.eps));
      for (const [field, key] of [[gain, "gain"], [bias, "bias"]]) {
        field.input.value = now[key];
        field.number.textContent = shown(now[key], 1);
      }
      const text = `Mean ${shown(found.mean)}, variance ${shown(found.variance)}${answer ? "" : `, divided by ${shown(found.divisor, 3)}`}. ` +
        `Afterwards: mean ${shown(middle)}, variance ${shown(spread ** 2)}.`;
      verdict.textContent = text;
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = text; }, 400);
    }

    features.forEach(({ input }, i) =>
      input.addEventListener("input", () => choose("x", model.get("x").map((old, j) => (j === i ? Number(input.value) : old)))));
    eps.input.addEventListener("input", () => choose("eps", 10 ** Number(eps.input.value)));
    gain.input.addEventListener("input", () => choose("gain", Number(gain.input.value)));
    bias.input.addEventListener("input", () => choose("bias", Number(bias.input.value)));
    const events = [...Object.keys(START), "computed"].map((name) => `change:${name}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      clearTimeout(timer);
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.layernorm = { render, compute, outcome };
})();
