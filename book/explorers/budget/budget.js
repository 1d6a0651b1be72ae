// What a training step costs, before it is run: memory, time and the place under the roofline, for
// a width, a batch, a precision and a device (ch10). The reader writes down an estimate first, and
// has it checked. The arithmetic is that of `book/experiments/cost/training_cost.py`; the devices come
// with the state: { name, bandwidth, memory, launch, tf32, peak: { float32, bfloat16 or float16 } },
// in bytes, FLOPs and seconds, and so does how many kernels a step launches.
(() => {
  const { change, html, draw, svg, figure, path, slider, picker, checkbox, button, sum, mount } =
    globalThis.explorerKit;
  const start = { width: 3, batch: 5, precision: 2, device: 0, graph: false, memoryGuess: 20,
    timeGuess: 20, checked: false, hide: true };
  const WIDTHS = [64, 128, 256, 512, 1024, 2048];
  const LAYERS = 6, LENGTH = 32, VOCABULARY = 32000;
  const PRECISIONS = ["float32", "TF32 (float32 in memory)", "16 bits (autocast)"];
  // bytes for each feature of d_model: encoder, decoder, memory; and for each feature of d_ff
  const WIDE = [48, 72, 8, 4], KEPT = [WIDE, WIDE, [40, 58, 8, 2]]; // of each precision
  const LOGITS = 12;
  // Of the peak, a good training reaches less than half.
  const REACHED = 0.4;
  const LEFT_FREE = 0.1; // of the memory, for libraries and for gaps between tensors
  const PARTS = ["weights", "gradients", "moments", "activations"];
  const W = 640, H = 310, LEFT = 108, RIGHT = 48, TOP = 40, BOTTOM = 66;

  function compute({ devices, kernels, width, batch, precision, device, graph }) {
    const d = WIDTHS[width], sentences = 2 ** batch;
    const { peak, bandwidth, memory: size, launch, tf32 } = devices[device];
    const half = Object.keys(peak).find((name) => name !== "float32");
    const kind = ["float32", tf32 ? "TF32" : "float32 (no TF32 here)", half][precision];
    const speed = [peak.float32, tf32 ?? peak.float32, peak[half]][precision];
    const inner = 4 * d, words = sentences * LENGTH;
    const [encoder, decoder, memory, wide] = KEPT[precision];
    const network = 2 * d * inner;
    const source = LAYERS * (4 * d * d + network + 2 * d * d);
    const target = source + d * VOCABULARY;
    const biases = LAYERS * (3 * 4 * d + 2 * (inner + d) + 5 * 2 * d) + VOCABULARY;
    const parameters = source + target + 2 * d * VOCABULARY + biases;
    const copies = precision === 2 ? 2 * (source + target) : 0;
    const activations = words * (LAYERS * ((encoder + decoder + memory) * d + 2 * wide * inner)
      + LOGITS * VOCABULARY) + copies;
    const parts = [4 * parameters, 4 * parameters, 8 * parameters, activations];
    const flops = 6 * words * (source + target)
      + 3 * LAYERS * 3 * 4 * words * LENGTH * d;
    // Each kept number is written and read; the optimizer reads four arrays and writes three.
    const traffic = 2 * activations + 7 * 4 * parameters;
    const byArithmetic = flops / (REACHED * speed), byMemory = traffic / bandwidth;
    const byLaunches = (graph ? 1 : kernels) * launch;
    const seconds = Math.max(byArithmetic, byMemory, byLaunches);
    const bytes = sum(parts), room = (1 - LEFT_FREE) * size;
    return { d, sentences, kind, words, parameters, parts, bytes, fits: bytes <= room, room, size,
      flops, intensity: flops / traffic, seconds, byArithmetic, byMemory, byLaunches,
      wordsPerSecond: words / seconds, peak: speed, bandwidth };
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
  const round = (number) => Number(number.toPrecision(2)).toLocaleString("en");
  function inTime(seconds) {
    if (seconds < 1) return `${digits(1000 * seconds)} ms`;
    return seconds < 120 ? `${digits(seconds)} s` : `${digits(seconds / 60)} minutes`;
  }
  function apart(guess, right) {
    const factor = guess > right ? guess / right : right / guess;
    if (factor <= 1.25) return "close";
    return `${digits(factor)} times too ${guess > right ? "much" : "little"}`;
  }

  function plot() {
    const drawing = svg(W, H, { class: "explorer-plot" });
    const axes = draw(drawing, "g", {});
    const roof = draw(drawing, "path", { class: "budget-roof" });
    const lower = draw(drawing, "path", { class: "budget-roof budget-reached" });
    const drop = draw(drawing, "path", { class: "budget-drop" });
    const dot = draw(drawing, "circle", { r: 7, class: "budget-dot" });
    const note = draw(drawing, "text", {});
    const x = (value) => LEFT + (Math.log10(value) / 5) * (W - LEFT - RIGHT);
    const between = (value, low, high) => H - BOTTOM
      - ((Math.log10(value) - low) / (high - low)) * (H - BOTTOM - TOP);

    function show(found) {
      const high = Math.ceil(Math.log10(found.peak)), low = high - 5;
      const y = (value) => between(Math.max(value, 10 ** low), low, high);
      axes.replaceChildren();
      for (let power = 0; power <= 5; power += 1)
        draw(axes, "text", { x: x(10 ** power), y: H - 42, "text-anchor": "middle" },
          (10 ** power).toLocaleString("en"));
      draw(axes, "text", { x: (LEFT + W) / 2, y: H - 8, "text-anchor": "middle" },
        "FLOPs per byte");
      draw(axes, "text", { x: 8, y: 18 }, "FLOPs a second");
      for (let power = low + 1; power <= high; power += 2) {
        const at = y(10 ** power);
        draw(axes, "line", { x1: LEFT, x2: W - RIGHT, y1: at, y2: at, class: "explorer-grid" });
        draw(axes, "text", { x: LEFT - 8, y: at + 5, "text-anchor": "end" },
          power >= 12 ? `${(10 ** (power - 12)).toLocaleString("en")} T` : `${10 ** (power - 9)} G`);
      }
      const bottom = Math.max(1, 10 ** low / found.bandwidth);
      const roofAt = (level) => path([[x(bottom), y(Math.min(level, bottom * found.bandwidth))],
        [x(Math.max(bottom, level / found.bandwidth)), y(level)], [x(1e5), y(level)]]);
      change(roof, { d: roofAt(found.peak) });
      change(lower, { d: roofAt(REACHED * found.peak) });
      const at = Math.min(Math.max(found.intensity, 1), 1e5);
      const reached = found.flops / found.seconds;
      change(dot, { cx: x(at), cy: y(reached) });
      change(drop, { d: path([[x(at), y(reached)], [x(at), H - BOTTOM]]) });
      const left = x(at) > W - RIGHT - 100; // elsewhere the place right below the roof is free
      change(note, { x: x(at) + (left ? -14 : 14), y: y(reached) + 24,
        "text-anchor": left ? "end" : "start" });
      note.textContent = "this step";
    }
    return { drawing, show };
  }

  function build({ model, choose, verdict, say }) {
    const [devices, kernels] = ["devices", "kernels"].map((name) => model.get(name));
    const set = (changes) => choose({ checked: false, ...changes });
    const width = slider("Width d_model", { min: 0, max: WIDTHS.length - 1 },
      (value) => set({ width: value }));
    const batch = slider("Sentences in a batch", { min: 0, max: 13 },
      (value) => set({ batch: value }));
    const precision = picker("Precision of the products", PRECISIONS,
      (value) => set({ precision: value }));
    const graph = checkbox("launch the whole step as one CUDA graph", (on) => set({ graph: on }));
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

    const bars = PARTS.map((name) => html("span", { class: `explorer-part budget-${name}` }));
    const limit = html("span", { class: "budget-limit" });
    const bar = html("div", { class: "explorer-stack budget-bar", "aria-hidden": "true" }, ...bars, limit);
    const sizes = PARTS.map(() => html("td"));
    const rows = PARTS.map((name, i) => html("tr", {},
      html("th", { scope: "row" }, html("span", { class: `explorer-key budget-${name}`,
        "aria-hidden": "true" }), ` ${name}`), sizes[i]));
    const table = html("table", { class: "explorer-sizes" }, html("tbody", {}, ...rows));
    const memory = html("figcaption", {}, "Memory");
    const framed = html("figure", { class: "explorer-result" }, memory, bar, table);
    const roofline = plot();
    const framedRoofline = figure(`Roofline of the device, and dashed at ${100 * REACHED} % of its
      peak, which we assume (both scales in powers of ten)`.replace(/\s+/g, " "),
      roofline.drawing);

    function update(now) {
      const found = compute({ devices, kernels, ...now });
      const { name } = devices[now.device];
      width.show(now.width, found.d, `${found.d}`);
      const sentences = found.sentences === 1 ? "1 sentence" : `${found.sentences} sentences`;
      batch.show(now.batch, found.sentences, sentences);
      precision.input.value = now.precision;
      device.input.value = now.device;
      const guesses = [bytesOf(now.memoryGuess), secondsOf(now.timeGuess)];
      memoryGuess.show(now.memoryGuess, inBytes(guesses[0]), inBytes(guesses[0]));
      timeGuess.show(now.timeGuess, inTime(guesses[1]), inTime(guesses[1]));
      graph.input.checked = now.graph;
      const whole = Math.max(found.bytes, found.size);
      limit.style.left = `${(100 * found.room) / whole}%`;
      bar.classList.toggle("budget-over", !found.fits);
      found.parts.forEach((bytes, i) => {
        bars[i].style.width = `${(100 * bytes) / whole}%`;
        sizes[i].textContent = inBytes(bytes);
      });
      memory.textContent = `Memory: ${inBytes(found.bytes)}; the line marks ${inBytes(found.room)},
        nine tenths of the device`.replace(/\s+/g, " ");
      roofline.show(found);
      const by = { arithmetic: found.byArithmetic, memory: found.byMemory,
        launches: found.byLaunches };
      const limits = Object.keys(by).find((name) => by[name] === found.seconds);
      change(roofline.drawing, { "aria-label": `Roofline: this step does
        ${digits(found.intensity)} FLOPs per byte. Its limit: ${limits}.` });
      const step = `${inBytes(found.bytes)}, ${inTime(found.seconds)} a step (limit: ${limits})`;
      const fits = found.fits
        ? `It fits: ${step}, about ${round(found.wordsPerSecond)} words a second.`
        : `It does not fit: it needs ${inBytes(found.bytes)}, and ${inBytes(found.room)} of the
          device can be used.`;
      const time = found.fits ? `, time ${apart(guesses[1], found.seconds)}` : ""; // or there is none
      const judged = now.checked
        ? ` Your estimate: memory ${apart(guesses[0], found.bytes)}${time}.` : "";
      hide.input.checked = now.hide;
      const secret = now.hide && !now.checked;
      framed.hidden = framedRoofline.hidden = secret;
      const answer = secret ? "How much memory, and how long is a step?" : fits;
      say(`${(found.parameters / 1e6).toFixed(0)} million parameters, ${sentences}
        of ${LENGTH} words, ${found.kind}, ${name}. ${answer}${judged}`.replace(/\s+/g, " "));
    }
    return { update, children: [controls, graph.field, hide.field, check, verdict, framed, framedRoofline] };
  }

  mount("budget", { start, compute, build });
})();
