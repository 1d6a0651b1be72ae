// Greedy decoding, word by word: the sentence so far, where each head of the cross-attention looks, and the scores of the next word.
// The logits and attention weights come from a model that the page trained; the softmax and the choice are made here.
(() => {
  const SHOWN = 5; // of the likeliest next words
  const SPECIAL = 3; // ids below are <pad>, <bos> and <eos>

  // What solutions/ch08_encoder_decoder.py does at one step: the softmax over the logits, and the word with the largest.
  function compute({ logits }) {
    const largest = Math.max(...logits);
    const exponentials = logits.map((logit) => Math.exp(logit - largest));
    const total = exponentials.reduce((sum, number) => sum + number, 0);
    const probabilities = exponentials.map((number) => number / total);
    const order = logits.map((_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
    return { probabilities, order, next: order[0] };
  }

  // What the page's model writes; what is `given` comes from elsewhere.
  const outcome = (model, { sentence }, given) => ({ ...model.get("sentences")[sentence], ...given });

  // The average of the heads for each word of the source.
  function average(heads) {
    return heads[0].map((_, word) => heads.reduce((sum, weights) => sum + weights[word], 0) / heads.length);
  }

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const percent = (share) => {
    if (share > 0.999) return "over 99.9%";
    return share < 0.001 ? "under 0.1%" : `${(100 * share).toFixed(1)}%`;
  };

  function render({ model, el }) {
    for (const [key, value] of Object.entries({ sentence: 0, step: 0 })) if (model.get(key) === undefined) model.set(key, value);
    const sentences = model.get("sentences");
    const vocabulary = model.get("vocabulary");
    const now = () => {
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const sentence = outcome(model, answer?.inputs ?? { sentence: model.get("sentence") }, answer?.numbers);
      return { sentence, step: Math.min(model.get("step"), sentence.steps.length - 1) };
    };
    const choose = (changes) => {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    };

    // What does not change: the controls and the frames of the two tables.
    const picker = html("select", {}, ...sentences.map(({ source }, i) => html("option", { value: i }, source.join(" "))));
    const slider = html("input", { type: "range", min: 1, step: 1 });
    const count = html("span", { class: "decoding-number", "aria-hidden": "true" }); // the slider says it itself
    const back = html("button", { type: "button", class: "decoding-button" }, "Back");
    const next = html("button", { type: "button", class: "decoding-button" }, "Write the next word");
    const controls = html("div", { class: "decoding-controls" },
      html("label", { class: "decoding-field" }, html("span", {}, "Sentence"), picker),
      html("label", { class: "decoding-field" }, html("span", {}, "Step ", count), slider),
      html("div", { class: "decoding-buttons" }, back, next));

    const written = html("p", { class: "decoding-written" });
    const candidates = html("tbody");
    const words = html("table", { class: "decoding-words" },
      html("caption", {}, "What could come next"),
      html("thead", {}, html("tr", {}, ...["word", "", "logit", "probability"].map((name) =>
        name ? html("th", { scope: "col" }, name) : html("td", { "aria-hidden": "true" })))),
      candidates);
    const looks = html("table", { class: "decoding-looks" });
    const verdict = html("p", { class: "decoding-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "decoding-spoken", "aria-live": "polite" });
    el.append(html("div", { class: "explorer-root decoding" }, controls, written,
      html("div", { class: "decoding-parts" }, words, looks), verdict, spoken));

    function drawCandidates({ probabilities, order }, logits) {
      candidates.replaceChildren(...order.slice(0, SHOWN).map((id, rank) => {
        const bar = html("span", { class: "decoding-bar" });
        bar.style.width = `${100 * probabilities[id]}%`;
        return html("tr", rank ? {} : { class: "decoding-best" },
          html("th", { scope: "row" }, vocabulary[id]),
          html("td", { class: "decoding-track", "aria-hidden": "true" }, bar),
          html("td", {}, logits[id].toFixed(2).replace("-", "−")),
          html("td", {}, percent(probabilities[id])));
      }));
    }

    function drawLooks(source, heads) {
      const columns = [...heads, average(heads)];
      const cell = (weight) => {
        const td = html("td", {}, weight.toFixed(2));
        td.style.setProperty("--weight", weight.toFixed(3));
        return td;
      };
      const names = [...heads.map((_, head) => `${head + 1}`), "mean"];
      looks.replaceChildren(
        html("caption", {}, "Where the heads look"),
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "head"), ...names.map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, ...source.map((word, place) =>
          html("tr", {}, html("th", { scope: "row" }, word), ...columns.map((weights) => cell(weights[place]))))));
    }

    let timer;
    function update() {
      const { sentence, step } = now();
      const { logits, attention } = sentence.steps[step];
      const result = compute({ logits });
      const before = sentence.chosen.slice(0, step).map((id) => vocabulary[id]);
      const id = sentence.chosen[step];
      const word = vocabulary[id];
      const last = step === sentence.steps.length - 1;

      picker.value = model.get("sentence");
      slider.max = sentence.steps.length;
      slider.value = step + 1;
      slider.setAttribute("aria-valuetext", `step ${step + 1} of ${sentence.steps.length}`);
      count.textContent = `${step + 1} of ${sentence.steps.length}`;
      back.disabled = step === 0;
      next.disabled = last;
      written.replaceChildren(...["<bos>", ...before].flatMap((each) => [html("span", {}, each), " "]), html("strong", {}, word));
      drawCandidates(result, logits);
      drawLooks(sentence.source, attention);

      const weights = average(attention);
      const place = weights.indexOf(Math.max(...weights));
      const where = `The heads look most at “${sentence.source[place]}”, with ${weights[place].toFixed(2)} on average.`;
      const said = `After “${["<bos>", ...before].at(-1)}” comes “${word}”, with a probability of ${percent(result.probabilities[id])}.`;
      const ended = id < SPECIAL ? " The sentence ends here." : "";
      verdict.textContent = `${said} ${where}${ended}`;
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = `${said} ${where}${ended}`; }, 400);
    }

    const move = (by) => {
      const { sentence, step } = now();
      choose({ step: Math.max(0, Math.min(sentence.steps.length - 1, step + by)) });
      if (next.disabled && document.activeElement === next) back.focus(); // a disabled button would lose the keyboard
      if (back.disabled && document.activeElement === back) next.focus();
    };
    picker.addEventListener("change", () => choose({ step: 0, sentence: Number(picker.value) }));
    slider.addEventListener("input", () => choose({ step: Number(slider.value) - 1 }));
    back.addEventListener("click", () => move(-1));
    next.addEventListener("click", () => move(1));

    const events = ["sentence", "step", "computed"].map((key) => `change:${key}`);
    for (const event of events) model.on(event, update);
    update();
    return () => {
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.decoding = { render, compute, outcome };
})();
