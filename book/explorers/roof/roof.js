// What limits a product on a GPU: words times a square weight matrix, under the roof of a card
// (ch10). The reader chooses sizes, precision and card, and says what the limit is; then the dot
// shows where the product is. The arithmetic is that of `book/experiments/cost/devices.py`.
// Cards come with the state, in bytes, FLOPs and seconds, with what an H100 did at one width.
(() => {
  const { change, html, draw, svg, path, slider, picker, checkbox, chips, bar, level, figure,
    mount } = globalThis.explorerKit;
  const start = { words: 15, width: 5, precision: 2, device: 0, guess: -1, always: false };
  const LIMITS = ["a launch", "memory", "arithmetic"];
  const PRECISIONS = ["float32", "TF32 (float32 in memory)", "16 bits"];
  const NAMES = ["float32", "tf32", "bfloat16"];
  const MEASURED_WIDTH = 8192, TILE = 128, LAST = 16384;
  const W = 640, H = 380, LEFT = 84, RIGHT = 44, TOP = 40, BOTTOM = 70;
  const X = [0.25, 4096], Y = [1e10, 2e15]; // FLOPs per byte, FLOPs a second

  function product({ devices, launch, precision, device }, words, width) {
    const { peak, bandwidth, multiprocessors, tf32 } = devices[device];
    const half = Object.keys(peak).find((name) => name !== "float32");
    const most = [peak.float32, tf32 ?? peak.float32, peak[half]][precision];
    const size = precision === 2 ? 2 : 4, flops = 2 * words * width ** 2;
    const bytes = size * (width ** 2 + 2 * words * width);
    const times = [launch, bytes / bandwidth, flops / most];
    const tiles = Math.ceil(words / TILE) * Math.ceil(width / TILE);
    const work = 2 * Math.min(words, TILE) * Math.min(width, TILE) * width;
    const inTiles = Math.ceil(tiles / multiprocessors) * work * multiprocessors / most;
    const seconds = Math.max(...times);
    return { flops, bytes, intensity: flops / bytes, times, seconds, limit: times.indexOf(seconds),
      speed: flops / seconds, most, bandwidth, tiles, inTiles, multiprocessors,
      kind: ["float32", tf32 ? "TF32" : "float32 (no TF32 here)", half][precision] };
  }

  function compute(given) {
    const words = given.allWords[given.words], width = given.widths[given.width];
    const here = product(given, words, width);
    const seen = given.device === 0 && width === MEASURED_WIDTH
      ? given.measured[NAMES[given.precision]] : [];
    const row = seen.find(([each]) => each === words);
    return { words, width, ...here, seen, took: row ? here.flops / row[2] : null,
      moreWords: product(given, 2 * words, width).seconds / here.seconds,
      moreWidth: product(given, words, 2 * width).seconds / here.seconds };
  }

  const digits = (number) => (number >= 100 ? Math.round(number).toLocaleString("en")
    : String(Number(number.toPrecision(2))));
  const inTime = (seconds) => (seconds < 1e-3 ? `${digits(1e6 * seconds)} µs`
    : `${digits(1e3 * seconds)} ms`);
  const inSpeed = (speed) => (speed < 1e12 ? `${digits(speed / 1e9)} GFLOP/s`
    : `${digits(speed / 1e12)} TFLOP/s`);
  const times = (factor) => (factor < 1.05 ? "the same time" : `${factor.toFixed(1)} times as long`);
  const place = ([low, high], number) => Math.log(number / low) / Math.log(high / low);

  function plot() {
    const drawing = svg(W, H, { class: "explorer-plot" });
    const x = (intensity) => LEFT + place(X, intensity) * (W - LEFT - RIGHT);
    const y = (speed) => H - BOTTOM - place(Y, speed) * (H - BOTTOM - TOP);
    const axes = draw(drawing, "g", {});
    for (let power = 10; power <= 15; power += 1)
      level(axes, { from: LEFT, to: W - RIGHT, at: y(10 ** power) },
        ["0.01", "0.1", "1", "10", "100", "1,000"][power - 10]);
    for (const tick of [1, 16, 256, 4096])
      draw(axes, "text", { x: x(tick), y: H - 44, "text-anchor": "middle" },
        tick.toLocaleString("en"));
    draw(axes, "text", { x: (LEFT + W - RIGHT) / 2, y: H - 10, "text-anchor": "middle" },
      "FLOPs per byte");
    draw(axes, "text", { x: 6, y: 20 }, "TFLOP/s");
    const roof = draw(drawing, "path", { class: "roof-roof" });
    const bend = draw(drawing, "text", { "text-anchor": "end" });
    const trail = draw(drawing, "path", { class: "explorer-line" });
    const points = draw(drawing, "g", {});
    const dot = draw(drawing, "circle", { r: 8, class: "explorer-dot" });

    function show(found, all, secret) {
      const knee = found.most / found.bandwidth;
      const corners = [X[0], knee, X[1]].map((each) =>
        [x(each), y(Math.min(each * found.bandwidth, found.most))]);
      change(roof, { d: path(corners) });
      bend.textContent = `bends at ${digits(knee)}`;
      change(bend, { x: x(knee) - 4, y: y(found.most) - 8 });
      points.replaceChildren();
      for (const [, intensity, speed] of found.seen)
        draw(points, "rect", { x: x(intensity) - 5, y: y(speed) - 5, width: 10, height: 10,
          class: "roof-measured" });
      change(trail, { d: path(all.map(({ intensity, speed }) => [x(intensity), y(speed)])) });
      change(dot, { cx: x(found.intensity), cy: y(found.speed) });
      for (const each of [trail, dot]) each.style.display = secret ? "none" : "";
    }
    return { drawing, show };
  }

  function build({ model, choose, verdict, say }) {
    const given = Object.fromEntries(["devices", "allWords", "widths", "launch", "measured"]
      .map((name) => [name, model.get(name)]));
    const { devices, allWords, widths } = given;
    const set = (changes) => choose({ guess: -1, ...changes });
    const words = slider("Words", { min: 0, max: allWords.length - 1 },
      (value) => set({ words: value }));
    const width = slider("Width of the matrix", { min: 0, max: widths.length - 1 },
      (value) => set({ width: value }));
    const precision = picker("Precision", PRECISIONS, (value) => set({ precision: value }));
    const device = picker("Card", devices.map(({ name }) => name),
      (value) => set({ device: value }));
    const controls = html("div", { class: "explorer-controls" }, words.field, width.field,
      precision.field, device.field);
    const { inputs, all: choices } = chips(LIMITS, (guess) => choose({ guess }));
    const question = html("div", { class: "explorer-chips", role: "radiogroup",
      "aria-label": "What limits it?" }, html("span", { class: "roof-question" },
      "What limits it?"), ...choices);
    const always = checkbox("show the answer at once", (on) => choose({ always: on }));

    const rows = LIMITS.map((name) => {
      const { track, fill } = bar(), time = html("td");
      return { time, fill, row: html("tr", {}, html("th", { scope: "row" }, name), track, time) };
    });
    const caption = "It takes at least the longest of these (a launch as beside our H100)";
    const table = html("table", { class: "explorer-table" },
      html("tbody", {}, ...rows.map(({ row }) => row)));
    const limits = figure(caption, table);
    const curve = plot();
    const legend = html("div", { class: "explorer-note" });
    const framed = html("figure", { class: "explorer-result" }, curve.drawing, legend);

    function update(now) {
      const found = compute({ ...given, ...now });
      const all = allWords.filter((each) => each <= LAST)
        .map((each) => product({ ...given, ...now }, each, found.width));
      const many = found.words.toLocaleString("en"), wide = found.width.toLocaleString("en");
      const counted = `${many} ${found.words === 1 ? "word" : "words"}`;
      words.show(now.words, many, counted);
      width.show(now.width, wide, wide);
      precision.input.value = now.precision;
      device.input.value = now.device;
      always.input.checked = now.always;
      inputs.forEach((input, i) => { input.checked = i === now.guess; });
      const secret = now.guess < 0 && !now.always;
      rows.forEach(({ time, fill }, i) => {
        time.textContent = inTime(found.times[i]);
        fill(found.times[i] / found.seconds);
      });
      limits.hidden = secret;
      curve.show(found, all, secret);
      const [name] = devices[now.device].name.split(",");
      legend.textContent = `Grey: the roof of the ${name}.${secret ? ""
        : " Line: this width with 1 to 16,384 words. Dot: this product."}${found.seen.length
        ? " Squares: measured on an H100." : ""}`;
      change(curve.drawing, { "aria-label": `The roof of the ${name} in ${found.kind}.${secret ? ""
        : ` The product is at ${digits(found.intensity)} FLOPs per byte and
          ${inSpeed(found.speed)}.`}`.replace(/\s+/g, " ") });
      const sizes = `${counted} times ${wide} × ${wide}, ${found.kind}, ${name}:`;
      const judged = now.guess < 0 ? "" : now.guess === found.limit ? "Yes. " : "Not quite. ";
      const idle = found.inTiles > 1.2 * found.seconds
        ? ` In tiles of 128 × 128 it would take ${inTime(found.inTiles)}, because ${found.tiles
          < found.multiprocessors ? `only ${found.tiles} of ${found.multiprocessors}
          multiprocessors would have one` : `the last wave of ${found.tiles.toLocaleString("en")} tiles is not full`};
          smaller tiles help.` : "";
      const real = found.took ? ` An H100 took ${inTime(found.took)}.` : "";
      const limit = ["A launch limits", "Memory limits", "Arithmetic limits"][found.limit];
      const share = (100 * found.speed) / found.most;
      say((secret ? `${sizes} what limits it?`
        : `${judged}${sizes} ${many === "1" ? "about 1 FLOP"
          : `${digits(found.intensity)} FLOPs`} per byte. ${limit} it: at least
          ${inTime(found.seconds)}, at most ${inSpeed(found.speed)}, ${share < 1 ? "less than 1"
          : Math.round(share)} % of the peak. Twice the words: ${times(found.moreWords)}; twice the
          width: ${times(found.moreWidth)}.${idle}${real}`).replace(/\s+/g, " "));
    }
    return { update, children: [controls, question, always.field, verdict, limits, framed] };
  }

  mount("roof", { start, compute, build });
})();
