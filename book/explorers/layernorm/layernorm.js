// One position with four features, before and after its layer norm.
(() => {
  const { change, html, draw, svg, figure, level, slider, button, sum, shown, mount } =
    globalThis.explorerKit;
  const start = { x: [1, 9, 7, 7], eps: 1e-5, gain: 1, bias: 0 };
  const FARTHEST = 10; // of a feature, either way
  // of a result, either way: gain 2, bias 2 and the largest normalised number of four, the root of
  // 3
  const SPREAD = 6;
  const WIDTH = 320, HEIGHT = 230, LEFT = 34, TOP = 12, BOTTOM = 26; // of a plot, in SVG units

  const meanOf = (numbers) => sum(numbers) / numbers.length;

  // The arithmetic of LayerNorm in solutions/ch07_layers.py for one position. What is `given` comes
  // from elsewhere.
  function compute({ x, eps, weight, bias }, given) {
    const mean = meanOf(x);
    const variance = meanOf(x.map((number) => (number - mean) ** 2));
    const divisor = Math.sqrt(variance + eps);
    const normalised = x.map((number) => (number - mean) / divisor);
    const result = normalised.map((number, i) => number * weight[i] + bias[i]);
    return { mean, variance, divisor, normalised, result, ...given };
  }

  const outcome = (model, { x, eps, gain, bias }, given) =>
    compute({ x, eps, weight: x.map(() => gain), bias: x.map(() => bias) }, given);

  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  // A number with two decimals, or, where they would say 0.00 of one that isn't, as 1.4·10⁻⁵.
  function sized(number) {
    const size = Math.abs(number);
    if (size >= 0.005 || size < 1e-15) return shown(number);
    const power = Math.floor(Math.log10(size));
    const raised = [...String(-power)].map((digit) => RAISED[digit]).join("");
    return `${shown(number / 10 ** power, 1)}·10⁻${raised}`;
  }

  const plainly = (number) =>
    number < 1e-3 ? shown(number, 5) : String(Number(number.toPrecision(2)));

  // Four bars on a fixed scale, a band from mean − spread to mean + spread, and a line at the mean.
  function plot(caption, limit, ticks) {
    const drawing = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const y = (value) => TOP + ((limit - value) / (2 * limit)) * (HEIGHT - TOP - BOTTOM);
    const band = draw(drawing, "rect", { x: LEFT, width: WIDTH - LEFT, class: "layernorm-band" });
    for (const tick of ticks) {
      const kind = tick ? "explorer-grid" : "layernorm-zero";
      level(drawing, { from: LEFT, to: WIDTH, at: y(tick), gap: 7, class: kind }, shown(tick, 0));
    }
    const step = (WIDTH - LEFT) / start.x.length;
    const bars = start.x.map((_, i) => {
      const x = LEFT + (i + 0.5) * step;
      const middle = { x, "text-anchor": "middle" };
      draw(drawing, "text", { ...middle, y: HEIGHT - 7 }, i + 1);
      const place = { x: x - 0.3 * step, width: 0.6 * step };
      const bar = draw(drawing, "rect", { ...place, class: "layernorm-bar" });
      return { bar, label: draw(drawing, "text", { ...middle, class: "layernorm-value" }) };
    });
    const line = draw(drawing, "line", { x1: LEFT, x2: WIDTH, class: "layernorm-mean" });
    function show(numbers, mean, spread) {
      numbers.forEach((number, i) => {
        const { bar, label } = bars[i];
        change(bar, { y: y(Math.max(number, 0)), height: Math.abs(y(number) - y(0)) });
        change(label, { y: number >= 0 ? y(number) - 5 : y(number) + 17 });
        label.textContent = sized(number);
      });
      change(line, { y1: y(mean), y2: y(mean) });
      const [top, bottom] = [Math.min(mean + spread, limit), Math.max(mean - spread, -limit)];
      change(band, { y: y(top), height: Math.max(y(bottom) - y(top), 0) });
      const said = numbers.map((number) => sized(number)).join(", ");
      change(drawing, { "aria-label": `${caption}: ${said}.` });
    }
    return { framed: figure(caption, drawing), show };
  }

  function build({ model, choose, verdict, say }) {
    const features = start.x.map((_, i) => {
      const range = { min: -FARTHEST, max: FARTHEST, step: 0.5 };
      return slider(`Feature ${i + 1}`, range, (value) =>
        choose({ x: model.get("x").map((old, j) => (j === i ? value : old)) }));
    });
    const eps = slider("eps", { min: -5, max: 1 }, (power) => choose({ eps: 10 ** power }));
    const range = { min: -2, max: 2, step: 0.1 };
    const gain = slider("Gain, the same for all four", range, (value) => choose({ gain: value }));
    const bias = slider("Bias, the same for all four", range, (value) => choose({ bias: value }));
    const making = (text, make) => button(text, () => choose({ x: make(model.get("x")) }));
    const buttons = html("div", { class: "explorer-buttons" },
      making("Halve all four", (x) => x.map((number) => number / 2)),
      making("Make them equal", (x) => x.map(() => x[0])),
      making("Start again", () => start.x));
    const before = plot("Features of one position", FARTHEST + 2, [-10, -5, 0, 5, 10]);
    const after = plot("After the norm", SPREAD, [-4, -2, 0, 2, 4]);
    const controls = html("div", { class: "explorer-controls" },
      ...[...features, eps, gain, bias].map(({ field }) => field));
    const plots = html("div", { class: "layernorm-plots" }, before.framed, after.framed);

    function update(now, answer) {
      const asked = answer?.inputs ?? now;
      const found = outcome(model, asked, answer?.numbers);
      const middle = answer ? meanOf(found.result) : now.bias;
      const spread = Math.sqrt(meanOf(found.result.map((number) => (number - middle) ** 2)));
      before.show(asked.x, found.mean, Math.sqrt(found.variance));
      after.show(found.result, middle, spread);

      features.forEach((feature, i) => feature.show(now.x[i], sized(now.x[i])));
      eps.show(Math.log10(now.eps), plainly(now.eps), plainly(now.eps));
      gain.show(now.gain, shown(now.gain, 1));
      bias.show(now.bias, shown(now.bias, 1));
      const divided = answer ? "" : `, divided by ${shown(found.divisor, 3)}`;
      say(`Mean ${sized(found.mean)}, variance ${sized(found.variance)}${divided}. ` +
        `Afterwards: mean ${shown(middle)}, variance ${sized(spread ** 2)}.`);
    }
    return { update, children: [plots, controls, buttons, verdict] };
  }

  mount("layernorm", { start, compute, outcome, build });
})();
