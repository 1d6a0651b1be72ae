// What a training step takes on a GPU, before it is run: memory and time, for a width, a batch, a
// precision and a device (ch10). The reader writes down an estimate first, and has it checked. What a
// step does and keeps comes with the state, from `book/experiments/cost/budgets.py`, and so do the
// devices: { name, bandwidth, memory, tf32, peak: { float32, bfloat16 or float16 } }, in bytes, FLOPs
// and seconds. Steps of the first device were measured, at one width.
(() => {
  const { change, html, draw, svg, figure, path, slider, picker, checkbox, button, stack, sum,
    mount } = globalThis.explorerKit;
  const start = { width: 3, batch: 5, precision: 2, device: 0, graph: false, memoryGuess: 20,
    timeGuess: 20, checked: false, hide: true };
  const MEASURED_WIDTH = 512;
  const PRECISIONS = ["float32", "TF32 (float32 in memory)", "16 bits (autocast)"];
  const NAMES = ["float32", "tf32", "bfloat16"];
  const PARTS = ["weights", "gradients", "moments", "activations"];
  const SHARES = [4 / 16, 4 / 16, 8 / 16]; // of what is always there
  const SPANS = ["products", "activations", "optimizer", "small kernels", "waiting for launches"];
  const W = 640, H = 320, LEFT = 112, RIGHT = 24, TOP = 40, BOTTOM = 66;
  const FASTEST = 1e-3, DECADES = 4; // of the axis, in seconds
  const CLOSE = { memory: 1.25, time: 1.5 };

  function compute(given) {
    const { devices, widths, batches, always, flops, activations, made, measured, width, batch,
      precision, device, graph } = given;
    const { peak, bandwidth, memory: size, tf32 } = devices[device];
    const half = Object.keys(peak).find((name) => name !== "float32");
    const kind = ["float32", tf32 ? "TF32" : "float32 (no TF32 here)", half][precision];
    const speed = [peak.float32, tf32 ?? peak.float32, peak[half]][precision];
    const format = precision === 2 ? 1 : 0;
    const parts = [...SHARES.map((share) => share * always[width]),
      activations[graph ? 1 : 0][format][width][batch]];
    const onTheGpu = [flops[width][batch] / (given.reached * speed),
      given.passes * made[format][width][batch] / bandwidth,
      given.update * always[width] / 16 / bandwidth, given.small];
    const spans = [...onTheGpu, graph ? 0 : Math.max(0, given.launching - sum(onTheGpu))];
    const bytes = sum(parts), room = (1 - given.leftFree) * size;
    const seen = device === 0 && widths[width] === MEASURED_WIDTH
      ? measured.filter((row) => row.precision === NAMES[precision]
        && row.how === (graph ? "recorded" : "launched")) : [];
    return { d: widths[width], sentences: batches[batch], kind, parameters: always[width] / 16, parts,
      bytes, fits: bytes <= room, room, size, flops: flops[width][batch], spans,
      seconds: sum(spans), atThePeak: flops[width][batch] / speed, seen,
      here: seen.find((row) => row.sentences === batches[batch]) };
  }

  // Guesses are steps of a scale: a tenth of a power of ten each.
  const bytesOf = (step) => 10 ** (7 + step / 10);
  const secondsOf = (step) => 10 ** (-4 + step / 10);

  const UNITS = [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];
  function digits(number) {
    return number >= 100 ? Math.round(number).toLocaleString("en") : String(Number(number.toPrecision(2)));
  }
  function inBytes(bytes) {
    const [unit, size] = UNITS.find(([, each]) => bytes >= each) ?? UNITS.at(-1);
    return `${digits(bytes / size)} ${unit}`;
  }
  function inTime(seconds) {
    if (seconds < 1) return `${digits(1000 * seconds)} ms`;
    return seconds < 120 ? `${digits(seconds)} s` : `${digits(seconds / 60)} minutes`;
  }
  function apart(guess, right, close) {
    const factor = guess > right ? guess / right : right / guess;
    if (factor <= close) return "close";
    return `${digits(factor)} times too ${guess > right ? "much" : "little"}`;
  }

  function plot() {
    const drawing = svg(W, H, { class: "explorer-plot" });
    const axes = draw(drawing, "g", {});
    const best = draw(drawing, "path", { class: "budget-best" });
    const estimate = draw(drawing, "path", { class: "budget-estimate" });
    const points = draw(drawing, "g", {});
    const dot = draw(drawing, "circle", { r: 7, class: "budget-dot" });
    const y = (seconds) => H - BOTTOM
      - Math.log10(Math.max(seconds, FASTEST) / FASTEST) / DECADES * (H - BOTTOM - TOP);

    function show(all, at) {
      const x = (place) => LEFT + place / (all.length - 1) * (W - LEFT - RIGHT);
      axes.replaceChildren();
      for (let place = 0; place < all.length; place += 3)
        draw(axes, "text", { x: x(place), y: H - 42, "text-anchor": "middle" },
          all[place].sentences.toLocaleString("en"));
      draw(axes, "text", { x: (LEFT + W) / 2, y: H - 8, "text-anchor": "middle" },
        "sentences in a batch");
      draw(axes, "text", { x: 8, y: 18 }, "a step");
      for (let power = 0; power <= DECADES; power += 1) {
        const level = y(FASTEST * 10 ** power);
        draw(axes, "line", { x1: LEFT, x2: W - RIGHT, y1: level, y2: level, class: "explorer-grid" });
        draw(axes, "text", { x: LEFT - 8, y: level + 5, "text-anchor": "end" },
          inTime(FASTEST * 10 ** power));
      }
      const fitting = all.filter(({ fits }) => fits);
      change(estimate, { d: path(fitting.map(({ seconds }, i) => [x(i), y(seconds)])) });
      change(best, { d: path(fitting.map(({ atThePeak }, i) => [x(i), atThePeak])
        .filter(([, seconds]) => seconds >= FASTEST).map(([place, seconds]) => [place, y(seconds)])) });
      points.replaceChildren();
      for (const { sentences, seconds } of all[0].seen) {
        const place = x(all.findIndex((each) => each.sentences === sentences));
        draw(points, "rect", { x: place - 6, y: y(seconds) - 6, width: 12, height: 12,
          class: "budget-measured" });
      }
      change(dot, { cx: x(at), cy: y(all[at].seconds) });
      dot.style.display = all[at].fits ? "" : "none";
    }
    return { drawing, show };
  }

  function build({ model, choose, verdict, say }) {
    const given = Object.fromEntries(["devices", "widths", "batches", "always", "flops",
      "activations", "made", "measured", "leftFree", "reached", "passes", "update", "small",
      "launching"].map((name) => [name, model.get(name)]));
    const { devices, widths, batches } = given;
    const set = (changes) => choose({ checked: false, ...changes });
    const width = slider("Width d_model", { min: 0, max: widths.length - 1 },
      (value) => set({ width: value }));
    const batch = slider("Sentences in a batch", { min: 0, max: batches.length - 1 },
      (value) => set({ batch: value }));
    const precision = picker("Precision of the products", PRECISIONS,
      (value) => set({ precision: value }));
    const graph = checkbox("replay the step from a CUDA graph", (on) => set({ graph: on }));
    const device = picker("Device", devices.map(({ name }) => name),
      (value) => set({ device: value }));
    const memoryGuess = slider("Your estimate: memory", { min: 0, max: 60 },
      (value) => set({ memoryGuess: value }));
    const timeGuess = slider("Your estimate: time of a step", { min: 0, max: 70 },
      (value) => set({ timeGuess: value }));
    const hide = checkbox("hide the answer until I check", (on) => set({ hide: on }));
    const check = button("Check my estimate", () => choose({ checked: true }));
    const controls = html("div", { class: "explorer-controls" }, width.field, batch.field,
      precision.field, device.field, memoryGuess.field, timeGuess.field);

    const memory = stack(PARTS, PARTS.map((name) => `budget-${name}`));
    const time = stack(SPANS, SPANS.map((name) => `budget-span-${name.split(" ")[0]}`));
    const curve = plot();
    const framedCurve = figure("", curve.drawing);
    const legend = framedCurve.querySelector("figcaption");

    function update(now) {
      const all = batches.map((_, place) => compute({ ...given, ...now, batch: place }));
      const found = all[now.batch];
      const { name } = devices[now.device];
      width.show(now.width, found.d, `${found.d}`);
      const many = found.sentences.toLocaleString("en");
      const sentences = found.sentences === 1 ? "1 sentence" : `${many} sentences`;
      batch.show(now.batch, many, sentences);
      precision.input.value = now.precision;
      device.input.value = now.device;
      const guesses = [bytesOf(now.memoryGuess), secondsOf(now.timeGuess)];
      memoryGuess.show(now.memoryGuess, inBytes(guesses[0]), inBytes(guesses[0]));
      timeGuess.show(now.timeGuess, inTime(guesses[1]), inTime(guesses[1]));
      graph.input.checked = now.graph;
      memory.show(found.parts, Math.max(found.bytes, found.size), inBytes, found.room);
      memory.caption.textContent = `Memory: ${inBytes(found.bytes)}; the line marks
        ${inBytes(found.room)}, nine tenths of the device`.replace(/\s+/g, " ");
      time.show(found.spans, found.seconds, inTime);
      time.caption.textContent = `Time of a step, estimated: ${inTime(found.seconds)}`;
      curve.show(all, now.batch);
      const { here } = found;
      legend.replaceChildren(...[["estimate", "estimated, for batches that fit"],
        ["best", "products alone, at the peak of the data sheet"],
        ...(found.seen.length ? [["measured", "measured on an H100"]] : [])].map(
        ([kind, text]) => html("div", {}, html("span", { class: `budget-sign budget-sign-${kind}`,
          "aria-hidden": "true" }), ` ${text}`)));
      change(curve.drawing, { "aria-label": `Time of a step by sentences in a batch. This step:
        ${found.fits ? `about ${inTime(found.seconds)}` : "it does not fit"}.` });
      const products = Math.round((100 * found.spans[0]) / found.seconds) || "less than 1";
      const real = here ? ` An H100 took ${inTime(here.seconds)}${here.peak
        ? ` and ${inBytes(here.peak)}` : ""}.` : "";
      const answer = found.fits
        ? `It fits: ${inBytes(found.bytes)}, about ${inTime(found.seconds)} a step, ${products} % of
          it products.${real}`
        : `It does not fit: it needs ${inBytes(found.bytes)}, and ${inBytes(found.room)} of the
          device can be used.`;
      const span = apart(guesses[1], here?.seconds ?? found.seconds, CLOSE.time);
      const judged = now.checked
        ? ` Your estimate: memory ${apart(guesses[0], here?.peak ?? found.bytes, CLOSE.memory)}${
          found.fits ? `, time ${span}` : ""}${here ? " (beside the H100)" : ""}.` : "";
      hide.input.checked = now.hide;
      const secret = now.hide && !now.checked;
      for (const each of [memory.framed, time.framed, framedCurve]) each.hidden = secret;
      time.framed.hidden ||= !found.fits;
      say(`${(found.parameters / 1e6).toFixed(0)} million parameters, ${sentences}
        of 32 words a side, ${found.kind}, ${name}. ${secret
          ? "How much memory, and how long is a step?" : answer}${judged}`.replace(/\s+/g, " "));
    }
    const stacks = html("div", { class: "explorer-parts" }, memory.framed, time.framed);
    return { update, children: [controls, graph.field, hide.field, check, verdict, stacks,
      framedCurve] };
  }

  mount("budget", { start, compute, build });
})();
