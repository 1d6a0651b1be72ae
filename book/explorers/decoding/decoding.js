// Greedy decoding, word by word: the sentence so far, where each head of the cross-attention looks,
// and the scores of the next word. The logits and attention weights come from a model that the page
// trained; the softmax and the choice are made here.
(() => {
  const { html, headings, bar, slider, picker, stepper, sum, largestAt, softmax, shown, italian,
    said, mount } = globalThis.explorerKit;
  const SHOWN = 5; // of the likeliest next words
  const SPECIAL = 3; // ids below are <pad>, <bos> and <eos>
  const NTH = ["first", "second", "third"]; // of words that come more than once
  const start = { sentence: 0, step: 0 };

  // What solutions/ch08_encoder_decoder.py does at one step: the softmax over the logits, and the
  // word with the largest.
  function compute({ logits }) {
    const order = logits.map((_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
    return { probabilities: softmax(logits), order, next: order[0] };
  }

  // What the page's model writes; what is `given` comes from elsewhere.
  const outcome = (model, { sentence }, given) =>
    ({ ...model.get("sentences")[sentence], ...given });

  // The average of the heads for each word of the source.
  const average = (heads) =>
    heads[0].map((_, word) => sum(heads.map((weights) => weights[word])) / heads.length);

  // The words of a source, each told apart from its likes: "first cat", "second cat".
  const apart = (source) => source.map((word, place) => {
    const twins = source.filter((other) => other === word).length;
    const nth = source.slice(0, place).filter((other) => other === word).length;
    return twins === 1 ? ["", word] : [NTH[nth] ?? `${nth + 1}.`, word];
  });

  const percent = (share) => {
    if (share > 0.999) return "over 99.9%";
    return share < 0.001 ? "under 0.1%" : `${(100 * share).toFixed(1)}%`;
  };

  function build({ model, choose, verdict, say }) {
    const sentences = model.get("sentences");
    const vocabulary = model.get("vocabulary");
    const seen = (now, answer) => {
      const sentence = outcome(model, answer?.inputs ?? now, answer?.numbers);
      return { sentence, step: Math.min(now.step, sentence.steps.length - 1) };
    };

    const sources = sentences.map(({ source }) => source.join(" "));
    const chooser = picker("Sentence", sources, (sentence) => choose({ step: 0, sentence }));
    const pace = slider("Step", { min: 1 }, (step) => choose({ step: step - 1 }));
    const buttons = stepper("Write the next word", (by) => {
      const now = { sentence: model.get("sentence"), step: model.get("step") };
      const { sentence, step } = seen(now, model.get("computed"));
      choose({ step: Math.max(0, Math.min(sentence.steps.length - 1, step + by)) });
    });
    const controls = html("div", { class: "explorer-controls" },
      chooser.field, pace.field, buttons.field);

    const written = html("p", { class: "decoding-written explorer-result" });
    const candidates = html("tbody");
    const question = html("caption");
    const words = html("table", { class: "explorer-table decoding-words" },
      question, headings(["word", "", "logit", "probability"]), candidates);
    const looks = html("table", { class: "explorer-table decoding-looks" });

    function drawCandidates({ probabilities, order }, logits) {
      candidates.replaceChildren(...order.slice(0, SHOWN).map((id, rank) => {
        const { track, fill } = bar();
        fill(probabilities[id]);
        return html("tr", { class: rank === 0 && "decoding-best" },
          html("th", { scope: "row" }, italian(vocabulary[id])), track,
          html("td", {}, shown(logits[id])), html("td", {}, percent(probabilities[id])));
      }));
    }

    function drawLooks(source, heads) {
      const columns = [...heads, average(heads)];
      const cell = (weight) => {
        const td = html("td", { class: "explorer-heat" }, weight.toFixed(2));
        td.style.setProperty("--weight", weight.toFixed(3));
        return td;
      };
      const names = ["head", ...heads.map((_, head) => `${head}`), "mean"];
      looks.replaceChildren(html("caption", {}, "Where the heads look"), headings(names),
        html("tbody", {}, ...apart(source).map((names, place) => {
          const cells = columns.map((weights) => cell(weights[place]));
          return html("tr", {}, html("th", { scope: "row" }, names.join(" ").trim()), ...cells);
        })));
    }

    function update(now, answer) {
      const { sentence, step } = seen(now, answer);
      const { logits, attention } = sentence.steps[step];
      const result = compute({ logits });
      const before = ["<bos>", ...sentence.chosen.slice(0, step).map((id) => vocabulary[id])];
      const id = sentence.chosen[step];
      const word = vocabulary[id];
      const count = sentence.steps.length;

      chooser.input.value = now.sentence;
      pace.input.max = count;
      pace.show(step + 1, `${step + 1} of ${count}`, `step ${step + 1} of ${count}`);
      buttons.show(step + 1, count);
      written.replaceChildren(...before.flatMap((each) => [italian(each), " "]),
        html("strong", {}, italian(word)));
      question.replaceChildren("What could come after ", italian(`“${before.at(-1)}”`));
      drawCandidates(result, logits);
      drawLooks(sentence.source, attention);

      const weights = average(attention);
      const place = largestAt(weights);
      const next = said`After ${italian(`“${before.at(-1)}”`)} comes ${italian(`“${word}”`)}, with a
        probability of ${percent(result.probabilities[id])}.`;
      const [nth, noun] = apart(sentence.source)[place];
      const most = `The heads look most at ${nth ? `the ${nth} ` : ""}“${noun}”`;
      const end = id < SPECIAL ? " The sentence ends here." : "";
      say([next, ` ${most}, with ${weights[place].toFixed(2)} on average.${end}`]);
    }
    const parts = html("div", { class: "explorer-parts explorer-result" }, words, looks);
    return { update, children: [controls, written, parts, verdict] };
  }

  mount("decoding", { start, compute, outcome, build });
})();
