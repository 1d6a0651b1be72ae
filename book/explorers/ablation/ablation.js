// The heads of the trained translator, each with a switch (ch12): what it writes with the heads that
// are on, beside what it writes with all of them, and where each head of the cross-attention looked.
// One sentence comes with the page; the model is fetched when a head is switched off, or when the
// reader asks for another sentence.
(() => {
  const { html, button, chips, largestAt, shown, italian, listed, said, mount } =
    globalThis.explorerKit;
  const { writing, gatesOf, idsOf, joined, isWord, asking } = globalThis.translating;
  const KINDS = {
    cross: ["Decoder, cross-attention", "the word to come looks across at the English words"],
    self: ["Decoder, self-attention", "the word to come looks back at what was written"],
    encoder: ["Encoder", "each English word looks at the others"],
  };
  const start = { word: 0 };

  const nameOf = ({ kind, layer, head }) =>
    `${KINDS[kind][0].toLowerCase()}, layer ${layer + 1}, head ${head + 1}`;
  const headsOf = (gates) => Object.keys(KINDS).flatMap((kind) =>
    gates[kind].flatMap((heads, layer) => heads.map((gate, head) => ({ kind, layer, head, gate }))));
  const without = (shape, { kind, layer, head }) => {
    const gates = gatesOf(shape);
    gates[kind][layer][head] = 0;
    return gates;
  };

  // Which words of `after` are not those of `before`, by the longest sequence of words that both
  // have in this order.
  function changed(before, after) {
    const longest = before.map(() => []);
    const at = (i, j) => longest[i]?.[j] ?? 0;
    for (let i = before.length - 1; i >= 0; i -= 1)
      for (let j = after.length - 1; j >= 0; j -= 1)
        longest[i][j] = before[i] === after[j] ? 1 + at(i + 1, j + 1)
          : Math.max(at(i + 1, j), at(i, j + 1));
    const fresh = after.map(() => true);
    for (let i = 0, j = 0; i < before.length && j < after.length;) {
      if (before[i] === after[j]) {
        fresh[j] = false;
        i += 1;
        j += 1;
      } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
      else j += 1;
    }
    return fresh;
  }

  // The head of the cross-attention that looks hardest at one word, and at which.
  function hardest(weights) {
    let best = { weight: -1 };
    weights.forEach((heads, layer) => heads.forEach((row, head) => {
      const word = largestAt(row);
      if (row[word] > best.weight) best = { layer, head, word, weight: row[word] };
    }));
    return best;
  }

  function build({ model, el, choose, verdict, say }) {
    const first = model.get("first");
    let shape = model.get("shape");
    let gates = gatesOf(shape);
    let whole = first; // {source, written, weights}, with all heads
    let cut = null; // the words that it writes without some heads; null where it is not known
    let wanted = ""; // "each": try each head alone
    let found = []; // {head, written}: those that change the sentence
    let own = false; // whether `whole` is what this model wrote, or what came with the page

    const { form, offered, status, start: again, stop } = asking({ el,
      value: first.source.join(" "), examples: model.get("examples"), write, refuse,
      still: () => joined(whole.source) });
    const intact = html("p", { class: "ablation-sentence", lang: "it" });
    const switched = html("p", { class: "ablation-sentence ablation-switched", lang: "it" });
    const sentences = html("div", { class: "ablation-sentences" },
      html("p", { class: "ablation-caption" }, "With all heads"), intact,
      html("p", { class: "ablation-caption" }, "With the heads that are on"), switched);
    const words = html("div", { class: "explorer-chips", role: "group",
      "aria-label": "A written word, to see where the heads looked" });
    const asked = html("p", { class: "explorer-note" }, "Choose a word that was written with all heads. " +
      "Each head of the cross-attention then shows at which English word it looked hardest, and " +
      "with which weight.");
    const board = html("div", { class: "ablation-board" });
    const reset = button("All heads on", () => {
      gates = gatesOf(shape);
      cut = null;
      drawBoard();
      redraw();
    });
    const each = button("Try each head alone", () => {
      wanted = "each";
      again();
    });
    const results = html("ul", { class: "ablation-results" });
    let boxes = []; // {kind, layer, head, input, look}

    function flip(box) {
      gates[box.kind][box.layer][box.head] = box.input.checked ? 1 : 0;
      cut = null;
      redraw();
      again();
    }

    function drawBoard() {
      boxes = headsOf(gates).map(({ kind, layer, head, gate }) => {
        const input = html("input", { type: "checkbox" });
        input.checked = gate > 0;
        const look = html("small", {});
        const box = { kind, layer, head, input, look };
        input.addEventListener("change", () => flip(box));
        const name = html("span", {},
          html("span", { class: "explorer-hidden" }, `${KINDS[kind][0]}, layer ${layer + 1}, `),
          `head ${head + 1}`, look);
        return { ...box, field: html("label", { class: "explorer-switch" }, input, name) };
      });
      board.replaceChildren(...Object.entries(KINDS).map(([kind, [name, what]]) =>
        html("fieldset", { class: `ablation-kind ablation-${kind}` },
          html("legend", {}, html("b", {}, name), `: ${what}`),
          ...gates[kind].map((_, layer) => html("div", { class: "ablation-layer" },
            html("span", { "aria-hidden": "true" }, `layer ${layer + 1}`),
            ...boxes.filter((box) => box.kind === kind && box.layer === layer)
              .map(({ field }) => field))))));
    }

    function drawWords() {
      const names = whole.written.map((word) => (isWord(word) ? italian(word) : "end"));
      words.replaceChildren(...chips(names, (word) => choose({ word })).all);
    }

    function drawResults() {
      results.replaceChildren(...found.map(({ head, written }) => html("li", {},
        button(nameOf(head), () => {
          gates = without(shape, head);
          cut = written;
          drawBoard();
          // where the heads looked when all of them wrote what is now missing
          choose({ word: Math.max(0, changed(written, whole.written).indexOf(true)) });
        }), " ", html("span", { lang: "it" }, joined(written.filter(isWord))))));
    }

    function redraw() {
      update({ word: model.get("word") });
    }

    const off = () => headsOf(gates).filter(({ gate }) => !gate);

    function update({ word }) {
      const place = Math.max(0, Math.min(word, whole.written.length - 1));
      const weights = whole.weights[place];
      words.querySelectorAll("input").forEach((input, i) => { input.checked = i === place; });
      for (const { kind, layer, head, look } of boxes) {
        const row = kind === "cross" && weights ? weights[layer][head] : null;
        look.textContent = row ? ` ${whole.source[largestAt(row)]} ${shown(Math.max(...row))}` : "";
      }
      intact.textContent = joined(whole.written.filter(isWord));
      const now = off().length ? cut : whole.written;
      const fresh = now ? changed(whole.written, now) : [];
      switched.replaceChildren(...marked(now ?? [], fresh));
      say(told(place, weights, now, fresh));
    }

    // The words as a sentence, the changed ones marked.
    function marked(written, fresh) {
      const visible = written.filter(isWord);
      return visible.map((word, i) => {
        const space = joined(visible.slice(0, i + 1)).slice(0, -word.length)
          .endsWith(" ") ? " " : "";
        return html("span", {}, space, fresh[i] ? html("span", { class: "explorer-wrong" }, word)
          : word);
      });
    }

    function told(place, weights, now, fresh) {
      const total = headsOf(gates).length, dark = off().length;
      const heads = dark ? `${dark} of ${total} heads ${dark === 1 ? "is" : "are"} off.`
        : `All ${total} heads are on.`;
      const known = dark && now ? outcome(now, fresh) : "";
      if (!weights) return said`${heads} ${known}`;
      const { layer, head, word, weight } = hardest(weights);
      const when = isWord(whole.written[place])
        ? said`When it wrote ${italian(`“${whole.written[place]}”`)}`
        : "When it ended the sentence";
      return said`${heads} ${known} ${when}, layer ${layer + 1}, head ${head + 1} of the
        cross-attention looked hardest: ${shown(weight)} at “${whole.source[word]}”.`;
    }

    function outcome(now, fresh) {
      if (now.join(" ") === whole.written.join(" ")) return "The sentence stays as it is.";
      const news = now.filter((word, i) => fresh[i] && isWord(word));
      const gone = changed(now, whole.written);
      const lost = whole.written.filter((word, i) => gone[i] && isWord(word));
      const quoted = (some) => listed(some.map((word) => italian(`“${word}”`)));
      if (!news.length) return said`The sentence changes: ${quoted(lost)}
        ${lost.length === 1 ? "is" : "are"} missing.`;
      if (!lost.length) return said`The sentence changes: it has ${quoted(news)} in addition.`;
      return said`The sentence changes: ${quoted(news)} instead of ${quoted(lost)}.`;
    }

    function refuse() {
      whole = { source: [], written: [], weights: [] };
      [cut, found] = [null, []];
      drawWords();
      drawResults();
      redraw();
    }

    // What is written with some gates, until a newer sentence takes over.
    async function written(loaded, source, open, check) {
      const steps = [];
      for await (const step of writing(loaded, idsOf(source, loaded), { gates: open })) {
        check();
        steps.push(step);
      }
      check();
      return { words: steps.map(({ id }) => loaded.words.target[id]),
        weights: steps.map((step) => step.weights) };
    }

    async function write(loaded, source, check) {
      const scanning = wanted === "each";
      wanted = "";
      if (JSON.stringify(gatesOf(loaded.words.shape)) !== JSON.stringify(gatesOf(shape))) {
        shape = loaded.words.shape; // a model of another size than the page knew
        gates = gatesOf(shape);
        drawBoard();
      }
      if (!own || source.join(" ") !== whole.source.join(" ")) {
        const { words: all, weights } = await written(loaded, source, gatesOf(shape), check);
        whole = { source, written: all, weights };
        [own, found] = [true, []];
        drawWords();
        drawResults();
        choose({ word: Math.min(model.get("word"), all.length - 1) });
      }
      const asked = gates; // a click may replace these while the model writes
      const some = off().length ? (await written(loaded, source, asked, check)).words : null;
      if (gates === asked) cut = some;
      redraw();
      if (scanning) await scan(loaded, source, check);
    }

    async function scan(loaded, source, check) {
      const heads = headsOf(gates);
      found = [];
      for (const head of heads) {
        const { words: now } = await written(loaded, source, without(shape, head), check);
        if (now.join(" ") !== whole.written.join(" ")) found.push({ head, written: now });
      }
      drawResults();
      const few = found.length ? "Choose one of them to see it." : "Switch off several of them.";
      status.textContent = `${status.textContent} Of ${heads.length} heads, each switched off ` +
        `alone, ${found.length} ${found.length === 1 ? "changes" : "change"} this sentence. ${few}`;
    }

    drawBoard();
    drawWords();
    const buttons = html("div", { class: "explorer-buttons" }, reset, each);
    return { update, stop, children: [form, status, offered, sentences, verdict, buttons, results,
      asked, words, board] };
  }

  mount("ablation", { start, changed, hardest, build });
})();
