// A training, look by look: the validation loss so far, and what the model writes for a few sentences.
// The page's run comes with the state: `sentences` are {source, reference}, `frames` {step, loss, translations}, one for each look at the
// validation sentences, and `start` is the loss of a model to which all words are equally likely.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 640, HEIGHT = 230, LEFT = 58, RIGHT = 18, TOP = 14, BOTTOM = 34; // in SVG units

  const wordsOf = (sentence) => sentence.match(/[^\s'?]*'|[^\s'?]+|\?/g) ?? [];

  // Which words of a translation stand where the reference has them, and whether all do.
  function compare(translation, reference) {
    const [written, wanted] = [wordsOf(translation), wordsOf(reference)];
    return { words: written.map((word, i) => ({ word, right: word === wanted[i] })), right: translation === reference };
  }

  // What there is to see at one look.
  function compute({ frames, sentences, frame }) {
    const { step, loss, translations } = frames[frame];
    const compared = translations.map((translation, i) => compare(translation, sentences[i].reference));
    return { step, loss, compared, right: compared.filter(({ right }) => right).length };
  }

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function draw(parent, tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  // Round levels (1, 2, 5, 10 ...) for a logarithmic axis that covers some numbers.
  function levelsOf(numbers) {
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const levels = [];
    for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent += 1)
      for (const digit of [1, 2, 5]) levels.push(Number(`${digit}e${exponent}`));
    const first = levels.findLastIndex((level) => level <= low), last = levels.findIndex((level) => level >= high);
    return levels.slice(Math.max(first, 0), last + 1);
  }

  function render({ model, el }) {
    if (model.get("frame") === undefined) model.set("frame", 0);
    const [frames, sentences, start] = ["frames", "sentences", "start"].map((key) => model.get(key));
    const losses = frames.map(({ loss }) => loss);
    const levels = levelsOf([...losses, start]);
    const bottom = Math.log(levels[0]), top = Math.log(levels.at(-1)), last = frames.at(-1).step;
    const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
    const y = (loss) => HEIGHT - BOTTOM - ((Math.log(loss) - bottom) / (top - bottom)) * (HEIGHT - BOTTOM - TOP);

    const svg = document.createElementNS(SVG, "svg");
    for (const [name, value] of [["viewBox", `0 0 ${WIDTH} ${HEIGHT}`], ["role", "img"], ["class", "training-plot"]]) svg.setAttribute(name, value);
    for (const level of levels) {
      draw(svg, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level), class: "training-grid" });
      draw(svg, "text", { x: LEFT - 8, y: y(level) + 6, "text-anchor": "end" }, level);
    }
    for (const share of [0, 0.5, 1])
      draw(svg, "text", { x: x(share * last), y: HEIGHT - 8, "text-anchor": share === 1 ? "end" : "middle" }, `${share ? "" : "step "}${Math.round(share * last)}`);
    draw(svg, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(start), y2: y(start), class: "training-start" });
    const path = (some) => some.map(({ step, loss }, i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`).join("");
    const first = { step: 0, loss: start };
    draw(svg, "path", { class: "training-ahead", d: path([first, ...frames]) });
    const line = draw(svg, "path", { class: "training-line" });
    const dot = draw(svg, "circle", { r: 7, class: "training-dot" });

    const number = html("span", { class: "training-number", "aria-hidden": "true" });
    const slider = html("input", { type: "range", min: 0, max: frames.length - 1, step: 1 });
    const field = html("label", { class: "training-field" }, html("span", {}, "Step ", number), slider);
    const cells = sentences.map(() => html("p", { class: "training-written" }));
    const said = sentences.map(({ source }, i) => html("div", { class: "training-sentence" }, html("p", { class: "training-source" }, source), cells[i]));
    const figure = html("figure", {}, html("figcaption", {}, "Validation loss of a word (log scale)"), svg);
    const note = html("p", { class: "training-note" }, "Underlined: not the word that the reference has at this place.");
    const verdict = html("p", { class: "training-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "training-spoken", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root training" }, field, figure, ...said, note, verdict, spoken));

    let timer;
    function update() {
      const frame = model.get("frame");
      const { step, loss, compared, right } = compute({ frames, sentences, frame });
      slider.value = frame;
      slider.setAttribute("aria-valuetext", `step ${step}, loss ${loss.toFixed(2)}`);
      number.textContent = step;
      line.setAttribute("d", path([first, ...frames.slice(0, frame + 1)]));
      dot.setAttribute("cx", x(step));
      dot.setAttribute("cy", y(loss));
      svg.setAttribute("aria-label", `The validation loss falls from ${start.toFixed(1)} to ${loss.toFixed(2)} at step ${step}.`);
      compared.forEach(({ words, right: whole }, i) => {
        const gap = (n) => (words[n].word.endsWith("'") || words[n + 1]?.word === "?" ? "" : " ");
        const pieces = words.flatMap(({ word, right: fits }, n) => [fits ? word : html("span", { class: "training-wrong" }, word), gap(n)]);
        cells[i].replaceChildren(...(words.length ? pieces : ["(nothing)"]), whole ? html("span", { class: "training-right" }, "✓ right") : "");
      });
      const text = `Step ${step}: loss ${loss.toFixed(2)}, ${right} of ${compared.length} sentences right.`;
      verdict.textContent = text;
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = text; }, 400);
    }

    slider.addEventListener("input", () => {
      model.set("frame", Number(slider.value));
      model.save_changes();
    });
    model.on("change:frame", update);
    update();
    return () => {
      clearTimeout(timer);
      model.off("change:frame", update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.training = { render, compute };
})();
