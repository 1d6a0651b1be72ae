// How a large model is cut among many GPUs (ch10): what each of them holds, and how long a step
// takes. The reader cuts matrices, layers, and by ZeRO what is left whole. The arithmetic is that
// of `book/experiments/cost/cuts.py`; models and speeds come with the state, in bytes, words and
// seconds.
(() => {
  const { html, slider, picker, checkbox, stack, sum, mount } = globalThis.explorerKit;
  const start = { model: 1, devices: 3, tensor: 0, pipeline: 0, stage: 0, sentences: 1, keeps: 0,
    interleaved: false };
  const DEVICES = Array.from({ length: 12 }, (_, i) => 2 ** (3 + i));
  const SENTENCES = [128, 256, 512, 1024, 2048, 4096];
  const STAGES = ["nothing", "moments (stage 1)", "gradients, too (2)", "weights, too (3)"];
  const KEEPS = ["everything", "what products make", "its input (checkpoints)"];
  const PARTS = ["weights", "gradients", "moments, master weights", "activations"];
  const SPANS = ["computing", "sums inside layers", "bubble", "waiting for weights, gradients"];
  const first = (prefix) => (name) => `${prefix}-${name.split(/\W/)[0]}`;
  const IN_A_MACHINE = 8;

  function compute(given) {
    const model = given.models[given.model], { stage, keeps, interleaved, length } = given;
    const devices = DEVICES[given.devices], sentences = SENTENCES[given.sentences];
    const tensor = 2 ** given.tensor, pipeline = 2 ** given.pipeline;
    const shape = { devices, sentences, tensor, pipeline };
    const copies = Math.floor(devices / (tensor * pipeline));
    if (copies < 1 || copies > sentences) return { ...shape, copies, works: false };
    const parts = sentences / copies, own = model.parameters / (tensor * pipeline);
    const here = model.layers / pipeline;
    const runs = interleaved ? Math.max(1, Math.floor(model.layers / pipeline)) : 1;

    const layer = copies > 1 ? 2 * model.layer / tensor : 0;
    const weights = stage === 3 ? 2 * own / copies + layer : 2 * own;
    const gradients = stage >= 2 ? 2 * own / copies + layer : 2 * own;
    const moments = 12 * own / (stage >= 1 ? copies : 1);

    const [whole, kept] = [0, keeps].map((each) => length * model.kept[each] / tensor);
    let inTheFirst = kept * here * Math.min(parts, pipeline) + (keeps ? whole : 0);
    if (interleaved) inTheFirst *= 1 + (pipeline - 1) / (pipeline * runs);
    const inTheLast = kept * here + length * given.vocabulary * 6 / tensor;
    const bytes = [weights, gradients, moments, Math.max(inTheFirst, inTheLast)];

    const met = model.parameters - model.width * given.vocabulary;
    const work = 6 * met * length / (tensor * pipeline) / (given.reached * given.peak);
    const forward = work / 3, backward = work * (keeps === 2 ? 1 : 2 / 3);
    const sums = here * (keeps === 2 ? 6 : 4) * 2 * (tensor - 1) / tensor * 2 * length
      * model.width / given.link;
    const lanes = Math.max(1, Math.floor(IN_A_MACHINE / tensor));
    const speed = devices <= IN_A_MACHINE ? given.link
      : Math.min(given.link, given.network * lanes);
    const half = (copies - 1) / copies * 2 * own / speed;
    const late = (seconds, time) => Math.max(0, seconds - time);
    const waiting = [
      late(2 * half, backward),
      late(half, backward) + late(half, forward),
      parts * late(half, backward) + late(half, forward),
      parts * (late(half, forward) + late(2 * half, backward)),
    ][stage];
    const part = forward + backward + sums;
    const spans = [parts * (forward + backward), parts * sums, (pipeline - 1) / runs * part,
      waiting];
    const seconds = sum(spans);
    const flops = 6 * met * length * sentences;
    const same = given.model === given.models.length - 1 && interleaved
      && Object.entries(given.reportedCut).every(([name, value]) => shape[name] === value);
    return { ...shape, works: true, copies, parts, bytes, spans, seconds,
      fits: sum(bytes) <= given.room, utilization: flops / (devices * given.peak * seconds),
      days: given.trainedOn / (sentences * length) * seconds / 86400,
      reported: (same && given.reported[devices]) || null };
  }

  const count = (number) => number.toLocaleString("en");
  const digits = (number) => (number >= 100 ? count(Math.round(number))
    : String(Number(number.toPrecision(2))));
  const inBytes = (bytes) =>
    (bytes < 1e9 ? `${digits(bytes / 1e6)} MB` : `${digits(bytes / 1e9)} GB`);
  const inTime = (seconds) =>
    (seconds < 1 ? `${digits(1000 * seconds)} ms` : `${digits(seconds)} s`);
  const some = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;

  function build({ model, choose, verdict, say }) {
    const given = Object.fromEntries(["models", "vocabulary", "length", "link", "network", "peak",
      "reached", "room", "size", "trainedOn", "reported", "reportedCut"]
      .map((name) => [name, model.get(name)]));
    const names = given.models.map(({ name }) => name);
    const which = picker("Model", names, (value) => choose({ model: value }));
    const devices = slider("H100s, eight in a machine", { min: 0, max: DEVICES.length - 1 },
      (value) => choose({ devices: value }));
    const tensor = slider("Each matrix is cut among", { min: 0, max: 3 },
      (value) => choose({ tensor: value }));
    const pipeline = slider("The layers are cut among", { min: 0, max: 4 },
      (value) => choose({ pipeline: value }));
    const stage = picker("ZeRO divides among the copies", STAGES,
      (value) => choose({ stage: value }));
    const keeps = picker("A layer keeps", KEEPS, (value) => choose({ keeps: value }));
    const sentences = slider("Sentences in the batch", { min: 0, max: SENTENCES.length - 1 },
      (value) => choose({ sentences: value }));
    const interleaved = checkbox("interleave the pipeline: single layers, not runs of layers",
      (on) => choose({ interleaved: on }));
    const controls = html("div", { class: "explorer-controls" }, which.field, devices.field,
      tensor.field, pipeline.field, stage.field, keeps.field, sentences.field);
    const memory = stack(PARTS, PARTS.map(first("cut")));
    const time = stack(SPANS, SPANS.map(first("cut")));

    function update(now) {
      const found = compute({ ...given, ...now });
      which.input.value = now.model;
      stage.input.value = now.stage;
      keeps.input.value = now.keeps;
      interleaved.input.checked = now.interleaved;
      devices.show(now.devices, count(found.devices), `${count(found.devices)} H100s`);
      tensor.show(now.tensor, found.tensor, some(found.tensor, "device"));
      pipeline.show(now.pipeline, found.pipeline, some(found.pipeline, "device"));
      sentences.show(now.sentences, count(found.sentences), some(found.sentences, "sentence"));
      for (const each of [memory.framed, time.framed]) each.hidden = !found.works;
      const whole = `${names[now.model]}, ${count(found.devices)} H100s`;
      if (!found.works) {
        say(`${whole}. ${found.copies < 1
          ? `A copy of the model is cut among ${found.tensor * found.pipeline} devices: too many.`
          : `That makes ${count(found.copies)} copies of the model, and only
            ${some(found.sentences, "sentence")}: some would have none.`}`.replace(/\s+/g, " "));
        return;
      }
      const needed = sum(found.bytes);
      memory.show(found.bytes, Math.max(needed, given.size), inBytes, given.room);
      memory.caption.textContent = `Memory of each: ${inBytes(needed)}; the line marks
        ${inBytes(given.room)}`.replace(/\s+/g, " ");
      time.show(found.spans, found.seconds, inTime);
      time.caption.textContent = `Time of a step: ${inTime(found.seconds)}`;
      time.framed.hidden = !found.fits;
      const share = (part) => `${(100 * part).toFixed(0)} %`;
      const cut = `${whole}: ${found.copies === 1 ? "one copy" : `${count(found.copies)} copies`} of
        the model, each with ${some(found.parts, "sentence")}.`;
      say(`${cut} ${found.fits ? `It fits: ${inBytes(needed)} on each. A step takes
        ${inTime(found.seconds)}, ${share(found.utilization)} of the peak, and 15.6 trillion words
        ${digits(found.days)} days.${found.reported ? ` The paper of Llama 3 reports
        ${share(found.reported)} for this cut.` : ""}` : `It does not fit: ${inBytes(needed)} on
        each, and ${inBytes(given.room)} can be used.`}`.replace(/\s+/g, " "));
    }
    const stacks = html("div", { class: "explorer-parts" }, memory.framed, time.framed);
    return { update, children: [controls, interleaved.field, verdict, stacks] };
  }

  mount("cut", { start, compute, build });
})();
