// A training, look by look: the validation loss so far, and what the model writes for a few
// sentences. The page's run comes with the state: `sentences` are {source, reference}, `frames`
// {step, loss, translations}, one for each look at the validation sentences, `start` is the loss of
// a model to which all words are equally likely, and `landmarks` are {says, loss} of models that
// know less than this one.
(() => {
  const { change, html, draw, svg, figure, path, level, slider, mount } = globalThis.explorerKit;
  const WIDTH = 640, HEIGHT = 230, LEFT = 58, RIGHT = 18, TOP = 14, BOTTOM = 34; // in SVG units

  const wordsOf = (sentence) => sentence.match(/[^\s'?]*'|[^\s'?]+|\?/g) ?? [];

  // Which words belong to the longest sequence that both have in the same order, and whether all do.
  function compare(translation, reference) {
    const [written, wanted] = [wordsOf(translation), wordsOf(reference)];
    // shared[i][j]: how many words written[i...] and wanted[j...] share, at most
    const shared = [...written, ""].map(() => Array(wanted.length + 1).fill(0));
    for (let i = written.length - 1; i >= 0; i -= 1)
      for (let j = wanted.length - 1; j >= 0; j -= 1)
        shared[i][j] = written[i] === wanted[j]
          ? shared[i + 1][j + 1] + 1
          : Math.max(shared[i + 1][j], shared[i][j + 1]);
    const words = written.map((word) => ({ word, right: false }));
    for (let i = 0, j = 0; i < written.length && j < wanted.length;)
      if (written[i] === wanted[j]) [words[i].right, i, j] = [true, i + 1, j + 1];
      else if (shared[i + 1][j] >= shared[i][j + 1]) i += 1;
      else j += 1;
    return { words, right: translation === reference };
  }

  // What there is to see at one look.
  function compute({ frames, sentences, frame }) {
    const { step, loss, translations } = frames[frame];
    const compared = translations.map((each, i) => compare(each, sentences[i].reference));
    return { step, loss, compared, right: compared.filter(({ right }) => right).length };
  }

  // Round levels (1, 2, 5, 10 ...) for a logarithmic axis that covers some numbers.
  function levelsOf(numbers) {
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const levels = [];
    for (let exponent = first; exponent <= last; exponent += 1)
      for (const digit of [1, 2, 5]) levels.push(Number(`${digit}e${exponent}`));
    const from = levels.findLastIndex((each) => each <= low);
    return levels.slice(Math.max(from, 0), levels.findIndex((each) => each >= high) + 1);
  }

  // The loss of every look, the part that is over drawn strongly.
  function plot(frames, start, landmarks) {
    const levels = levelsOf([...frames.map(({ loss }) => loss), start]);
    const [bottom, top] = [Math.log(levels[0]), Math.log(levels.at(-1))];
    const last = frames.at(-1).step;
    const height = HEIGHT - BOTTOM - TOP;
    const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
    const y = (loss) => HEIGHT - BOTTOM - ((Math.log(loss) - bottom) / (top - bottom)) * height;
    const drawing = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const across = { from: LEFT, to: WIDTH - RIGHT };
    for (const each of levels) level(drawing, { ...across, at: y(each) }, each);
    for (const share of [0, 0.5, 1]) {
      const place = { x: x(share * last), y: HEIGHT - 8 };
      const anchor = { "text-anchor": share === 1 ? "end" : "middle" };
      const text = `${share ? "" : "step "}${Math.round(share * last)}`;
      draw(drawing, "text", { ...place, ...anchor }, text);
    }
    for (const { loss } of landmarks) {
      const ends = { x1: LEFT, x2: WIDTH - RIGHT, y1: y(loss), y2: y(loss) };
      draw(drawing, "line", { ...ends, class: "training-landmark" });
    }
    const looks = [{ step: 0, loss: start }, ...frames];
    const points = looks.map(({ step, loss }) => [x(step), y(loss)]);
    draw(drawing, "path", { class: "training-ahead", d: path(points) });
    const line = draw(drawing, "path", { class: "explorer-line training-line" });
    const dot = draw(drawing, "circle", { r: 7, class: "explorer-dot training-dot" });
    function show(frame) {
      const { step, loss } = frames[frame];
      const [cx, cy] = points[frame + 1];
      change(line, { d: path(points.slice(0, frame + 2)) });
      change(dot, { cx, cy });
      const fall = `from ${start.toFixed(1)} to ${loss.toFixed(2)} at step ${step}`;
      change(drawing, { "aria-label": `The validation loss falls ${fall}.` });
    }
    const named = landmarks.map(({ says, loss }) => `${says} (${loss.toFixed(1)})`).join(", ");
    const note = html("p", { class: "explorer-note" }, `Dotted, from above: ${named}.`);
    return { framed: figure("Validation loss of a word (log scale)", drawing), note, show };
  }

  // A translation, what is wrong in it underlined.
  function marked({ words, right }) {
    const gap = (i) => (words[i].word.endsWith("'") || words[i + 1]?.word === "?" ? "" : " ");
    const pieces = words.flatMap(({ word, right: fits }, i) =>
      [fits ? word : html("span", { class: "explorer-wrong" }, word), gap(i)]);
    return [words.length ? html("span", { lang: "it" }, ...pieces) : "(nothing)",
      right ? html("span", { class: "training-right" }, "✓ right") : ""];
  }

  function build({ model, choose, verdict, say }) {
    const given = ["frames", "sentences", "start", "landmarks"].map((key) => model.get(key));
    const [frames, sentences, start, landmarks] = given;
    const loss = plot(frames, start, landmarks);
    const pace = slider("Step", { min: 0, max: frames.length - 1 }, (frame) => choose({ frame }));
    const cells = sentences.map(() => html("p", { class: "training-written" }));
    const pairs = sentences.map(({ source }, i) =>
      html("div", { class: "training-sentence" }, html("p", { class: "training-source" }, source),
        cells[i]));
    const note = html("p", { class: "explorer-note" },
      "Underlined: not in the reference, or not in this order.");

    function update({ frame }) {
      const seen = compute({ frames, sentences, frame });
      const [step, written] = [seen.step, seen.loss.toFixed(2)];
      pace.show(frame, step, `step ${step}, loss ${written}`);
      loss.show(frame);
      seen.compared.forEach((each, i) => cells[i].replaceChildren(...marked(each)));
      say(`Step ${step}: loss ${written}, ${seen.right} of ${cells.length} sentences right.`);
    }
    return { update, children: [pace.field, loss.framed, loss.note, ...pairs, note, verdict] };
  }

  mount("training", { start: { frame: 0 }, compute, build });
})();
