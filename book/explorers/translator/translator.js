// The trained translator in the page, word by word, with the cross-attention of every head and the
// likeliest words of each place. Some sentences come with the page; the model is fetched when the
// reader types another.
(() => {
  const NOTED = 0.05; // a smaller weight is not said aloud
  const LIKELY = 0.0005; // nor is a smaller probability shown
  const { html, sum, largestAt, italian, said, counted, mount } = globalThis.explorerKit;
  const { writing, idsOf, joined, isWord, percent, which, asking, pause } = globalThis.translating;

  // What the chosen head, or the mean of all heads of the last layer, gives to each word of the
  // source.
  function looks(weights, head) {
    if (head) {
      const [layer, number] = head.split(".").map(Number);
      return weights[layer][number];
    }
    const last = weights.at(-1);
    return last[0].map((_, word) => sum(last.map((each) => each[word])) / last.length);
  }

  // The head that looks hardest at the most different words, one after the other; among equals, the
  // one that looks hardest.
  function busiest(weights) {
    let best = { layer: 0, head: 0, words: 0, sharpness: 0 };
    (weights[0] ?? []).forEach((heads, layer) => heads.forEach((_, head) => {
      const rows = weights.map((step) => step[layer][head]);
      const words = new Set(rows.map(largestAt)).size;
      const sharpness = sum(rows.map((row) => Math.max(...row))) / rows.length;
      const better = words - best.words || sharpness - best.sharpness;
      if (better > 0) best = { layer, head, words, sharpness };
    }));
    return best;
  }

  // The last word of a translation that says something by itself: the first to show.
  const contentWord = (written) =>
    Math.max(0, written.findLastIndex((word) => isWord(word) && /\p{L}/u.test(word)));
  const opening = ({ opens, written }) => opens ?? contentWord(written);

  // Where a row of weights is largest, in words: "the second “cat” 0.92, the first “cat” 0.08".
  function largest(weights, words) {
    const places = [...weights.keys()].filter((i) => weights[i] >= NOTED);
    return places.sort((one, other) => weights[other] - weights[one]).slice(0, 3)
      .map((i) => `${which(words, i).join("")} ${weights[i].toFixed(2)}`).join(", ");
  }

  // Lets the page know what the translator does: its map of the Transformer listens.
  const tell = (phase, word) =>
    document.dispatchEvent(new CustomEvent("translator", { detail: { phase, word } }));

  function build({ model, el, say }) {
    // [{source: [words], unknown: [words], written: [words],
    //   weights: [steps][layers][heads][words], likely: [steps][[word, probability]],
    //   inside: what book/experiments/followed_sentences.py says, opens: the first word to show}]
    const recorded = model.get("translations");
    const [first] = recorded;
    let shown = first;
    let chosen = opening(first);
    let picked = false; // whether the reader chose a word of this translation

    const { form, offered, status, stop } = asking({ el, value: first.source.join(" "),
      examples: recorded.map(({ source }) => joined(source)), write, refuse: nothing,
      still: () => joined(shown.source), recorded, replay });
    const sentence = html("p", { class: "translator-sentence", lang: "it" });
    const origin = html("p", { class: "translator-caption translator-origin" });
    const source = html("div", { class: "translator-source", lang: "en" });
    const written = html("div",
      { class: "translator-written", role: "group", "aria-label": "Written words: choose one" });
    const head = html("select", { class: "explorer-button", onchange: drawSource });
    const [hint, caption, task] = ["", "", "Choose a word of the translation:"].map((text) =>
      html("p", { class: "translator-caption" }, text));
    const likely = html("ol", { class: "translator-likely", lang: "it" });
    const other = html("p", { class: "translator-caption" });

    function drawHeads(layers) {
      const options = [html("option", { value: "" }, "mean of the last layer’s heads")];
      layers.forEach((heads, layer) => heads.forEach((_, number) => {
        const name = `layer ${layer + 1}, head ${number + 1}`;
        options.push(html("option", { value: `${layer}.${number}` }, name));
      }));
      const before = head.value;
      head.replaceChildren(...options);
      head.value = options.some((option) => option.value === before) ? before : "";
    }

    function drawSource() {
      const word = shown.written[chosen];
      const [nth, quoted] = word ? which(shown.written, chosen) : [];
      const when = word && isWord(word) ? said`when it wrote ${nth}${italian(quoted)}`
        : "when it ended the sentence";
      const [layer, number] = head.value.split(".").map((each) => Number(each) + 1);
      const whose = head.value ? `head ${number} of layer ${layer}`
        : `mean of the last layer’s ${counted(shown.weights[0]?.at(-1).length ?? 0, "head")}`;
      const sentence = said`How much it looked at each English word ${when}: its attention weights,
        which sum to 1 (${html("strong", {}, whose)}).`;
      caption.replaceChildren(...(word ? sentence : []));
      const weights = word ? looks(shown.weights[chosen], head.value)
        : shown.source.map(() => 0);
      const who = head.value ? `H${whose.slice(1)}` : "It";
      say([], word ? said`${who} looked at ${largest(weights, shown.source)} ${when}.` : "");
      source.replaceChildren(...shown.source.map((word, i) => {
        const number = html("small", {}, weights[i].toFixed(2));
        const chip = html("span", { class: "translator-word explorer-heat" },
          html("span", {}, word), number);
        chip.style.setProperty("--weight", weights[i].toFixed(3));
        return chip;
      }));
    }

    // Where the reader can no longer see which head is chosen, none is.
    function giveUp() {
      if (heads.open || !head.value) return;
      head.value = "";
      drawSource();
    }

    function drawLikely() {
      const words = (shown.likely[chosen] ?? []).filter(([, share]) => share >= LIKELY);
      other.textContent = words.length ? "What was likely at this place:" : "";
      likely.replaceChildren(...words.map(([word, share]) => {
        const name = isWord(word) ? html("span", {}, word) : html("span", { lang: "en" }, "end");
        const row = html("li", {}, name, html("small", {}, percent(share)));
        row.style.setProperty("--share", share.toFixed(4));
        return row;
      }));
    }

    function drawHint() {
      const { layer, head: number, words } = busiest(shown.weights);
      const name = `layer ${layer + 1}, head ${number + 1}`;
      const some = `${words} of the ${shown.source.length} English words`;
      hint.textContent = "Each layer has several attentions side by side, called heads, and each " +
        "looks in its own way." + (words > 2 ? ` Choose ${name} and go through the written words: ` +
          `between them, this head looks hardest at ${some}.` : "");
    }

    function press() {
      [...written.children].forEach((each, i) =>
        each.setAttribute("aria-pressed", String(i === chosen)));
    }

    function choose(place) {
      chosen = place;
      press();
      drawSource();
      drawLikely();
      remember();
    }

    // For whoever follows the chosen word through the machine: the map of the Transformer.
    function remember() {
      const { source, ids, inside, written, weights, likely } = shown;
      if (written.length) globalThis.translating.latest = { source, ids, inside, written,
        place: chosen, weights: looks(weights[chosen], ""), likely: likely[chosen],
        onward: chosen + 1 < written.length ? () => pick(chosen + 1) : null };
    }

    function pick(place) {
      picked = true;
      choose(place);
      tell("rest"); // whoever follows a word begins again, with this one
    }

    function drawWritten() {
      if (written.children.length > shown.written.length) written.replaceChildren();
      const known = written.children.length; // what is there stays, and with it the reader's focus
      written.append(...shown.written.slice(known).map((word, place) => {
        const onclick = () => pick(known + place);
        const language = isWord(word) ? { lang: "it" } : {};
        return html("button", { type: "button", class: "explorer-button", ...language, onclick },
          isWord(word) ? word : "end");
      }));
      press();
      sentence.textContent = joined(shown.written.filter(isWord));
      origin.textContent = !shown.written.length ? "" : shown.inside
        ? "An example, stored in the page: the course’s recorded training wrote it."
        : "Written just now by the model in your browser, which comes from another training than " +
          "the examples.";
    }

    function nothing() {
      tell("rest");
      shown = { source: [], unknown: [], written: [], weights: [], likely: [] };
      drawWritten();
      choose(0);
      drawHint();
    }

    // Shows a translation while it comes about. A step has the word and its weights, and what was
    // likely.
    async function follow(sentence, steps, check) {
      shown = { ...sentence, written: [], weights: [], likely: [] };
      written.replaceChildren();
      drawHint();
      picked = false;
      tell("read");
      try {
        for await (const step of steps) {
          check();
          tell("write", isWord(step.word) ? step.word : "");
          shown.written.push(step.word);
          shown.weights.push(step.weights);
          shown.likely.push(step.likely);
          if (shown.written.length === 1) drawHeads(shown.weights[0]);
          drawWritten();
          choose(picked ? chosen : shown.written.length - 1);
          await pause();
        }
      } finally {
        check(); // whoever asked since then tells what happens now
        tell("rest");
      }
      if (!picked) choose(opening(shown));
      drawHint();
    }

    async function* computed(loaded, ids) {
      const word = (id) => loaded.words.target[id];
      for await (const step of writing(loaded, ids))
        yield { ...step, word: word(step.id),
          likely: step.likely.map(([id, share]) => [word(id), share]) };
    }

    async function* kept({ written: words, weights, likely: all }) {
      for (const [i, word] of words.entries())
        yield { word, weights: weights[i], likely: all[i] };
    }

    function write(loaded, words, check) {
      const ids = idsOf(words, loaded);
      return follow({ source: words, ids }, computed(loaded, ids), check);
    }

    function replay(translation, check) {
      return follow(translation, kept(translation), check);
    }

    drawHeads(first.weights[0]);
    drawWritten();
    choose(chosen);
    drawHint();
    const picker = html("label", { class: "translator-head" }, html("span", {}, "Head "), head);
    const heads = html("details", { class: "translator-heads", ontoggle: giveUp },
      html("summary", {}, "One head at a time"), picker, hint);
    const children = [form, status, sentence, origin, task, written, caption, source, other, likely, heads,
      offered];
    return { update() {}, children, stop };
  }

  mount("translator", { build, looks, busiest });
})();
