// The heads of the trained translator, each with a switch (ch12): what it writes with the heads that
// are on, beside what it writes with all of them, how sure it is of each word, and where each head of
// the cross-attention looked. One sentence comes with the page, and what becomes of it without any
// heads of the cross-attention or one other (book/experiments/heads/switched.py). The model is
// fetched for all else.
(() => {
  const { html, button, chips, largestAt, shown, italian, listed, said, mount } =
    globalThis.explorerKit;
  const { writing, gatesOf, idsOf, joined, isWord, asking } = globalThis.translating;
  const KINDS = {
    cross: ["Decoder, cross-attention", "the word to come looks across at the English words"],
    self: ["Decoder, self-attention", "the word to come looks back at what was written"],
    encoder: ["Encoder", "each English word looks at the others"],
  };
  const BARE = "Without the model you can still switch off any heads of the cross-attention, or one " +
    "other head.";
  const start = { word: 0 };

  const nameOf = ({ kind, layer, head }) =>
    `${KINDS[kind][0].toLowerCase()}, layer ${layer + 1}, head ${head + 1}`;
  const headsOf = (gates) => Object.keys(KINDS).flatMap((kind) =>
    gates[kind].flatMap((heads, layer) => heads.map((gate, head) => ({ kind, layer, head, gate }))));
  // The heads that are off as one number, a bit for each.
  const maskOf = (gates) =>
    headsOf(gates).reduce((mask, { gate }, i) => mask + (gate ? 0 : 2 ** i), 0);
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

  // How many heads of the cross-attention look hardest at which word: [word, heads], most heads first.
  function lookedAt(weights) {
    const heads = new Map();
    for (const word of weights.flat().map(largestAt)) heads.set(word, (heads.get(word) ?? 0) + 1);
    return [...heads].sort(([one, few], [other, many]) => many - few || one - other);
  }

  function build({ model, el, choose, verdict, say }) {
    const first = model.get("first");
    const otherGender = model.get("other_gender") ?? {}; // an article -> an article
    let shape = model.get("shape");
    let gates = gatesOf(shape);
    const recorded = new Map((model.get("without") ?? []).map(([mask, sentence, ...leads]) =>
      [mask, { words: model.get("sentences")[sentence], leads }]));
    // {source, written, weights, rivals}, with all heads, and `leads`: for each word the logit of its
    // rival minus its own
    let whole = { ...first, leads: recorded.get(0)?.leads };
    // {words, leads} without some heads; null where it is not known
    let cut = null;
    let wanted = ""; // "each": try each head alone
    let found = []; // {head, words, leads}: each head alone
    let own = false; // whether `whole` is what this model wrote, or what came with the page

    const { form, offered, status, start: again, stop } = asking({ el,
      value: first.source.join(" "), examples: model.get("examples"), write, refuse, replay,
      recorded: recorded.size ? [first] : [], bare: BARE, still: () => joined(whole.source) });
    const absent = html("p", { class: "explorer-note without-translator" },
      "This copy of the book was built without the trained translator, so its sentence is fixed. " +
      "What you see comes from this page’s own model: it has been asked for all sets of heads of " +
      "the cross-attention, and for each other head alone.");
    const intact = html("p", { class: "ablation-sentence", lang: "it" });
    const switched = html("p", { class: "ablation-sentence ablation-switched", lang: "it" });
    const difference = html("p", { class: "ablation-difference" });
    const sentences = html("div", { class: "ablation-sentences" },
      html("p", { class: "ablation-caption" }, "With all heads"), intact);
    const result = html("div", { class: "ablation-sentences ablation-now" },
      html("p", { class: "ablation-caption" }, "With the heads that are on"), switched, difference);
    const words = html("div", { class: "explorer-chips", role: "group",
      "aria-label": "A written word, to see where the heads looked" });
    const asked = html("p", { class: "explorer-note" }, "Choose a word that was written with all heads. " +
      "Each head of the cross-attention then shows at which English word it looked hardest, and " +
      "with which weight. Below that, once you have tried each head alone, is how much its rival " +
      "gains on the word when this head alone is off.");
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
    let boxes = []; // {kind, layer, head, input, look, alone}

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
        const alone = html("span", { class: "ablation-alone" });
        const box = { kind, layer, head, input, look, alone };
        input.addEventListener("change", () => flip(box));
        const name = html("span", {},
          html("span", { class: "explorer-hidden" }, `${KINDS[kind][0]}, layer ${layer + 1}, `),
          `head ${head + 1}`, look, alone);
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
      words.replaceChildren(...chips(whole.written.map(named), (word) => choose({ word })).all);
    }

    const changing = () =>
      found.filter(({ words: now }) => now.join(" ") !== whole.written.join(" "));

    function drawResults() {
      results.replaceChildren(...changing().map(({ head, words: now, leads }) => html("li", {},
        button(nameOf(head), () => {
          gates = without(shape, head);
          cut = { words: now, leads };
          drawBoard();
          // where the heads looked when all of them wrote what is now missing
          choose({ word: Math.max(0, changed(now, whole.written).indexOf(true)) });
        }), " ", html("span", { lang: "it" }, joined(now.filter(isWord))))));
    }

    function redraw() {
      update({ word: model.get("word") });
    }

    const off = () => headsOf(gates).filter(({ gate }) => !gate);

    function update({ word }) {
      const place = Math.max(0, Math.min(word, whole.written.length - 1));
      const weights = whole.weights[place];
      words.querySelectorAll("input").forEach((input, i) => { input.checked = i === place; });
      boxes.forEach(({ kind, layer, head, look, alone }, i) => {
        const row = kind === "cross" && weights ? weights[layer][head] : null;
        look.textContent = row ? ` ${whole.source[largestAt(row)]} ${shown(Math.max(...row))}` : "";
        const lead = found[i]?.leads?.[place];
        const all = whole.leads?.[place];
        alone.textContent = lead === undefined ? "" : `alone off: ${signed(lead - all)}`;
        // what is lost, as a share of what the word is ahead by
        alone.classList.toggle("ablation-missed", (lead - all) / -all > 0.15);
      });
      intact.textContent = joined(whole.written.filter(isWord));
      const dark = off().length > 0;
      const now = dark ? cut?.words : whole.written;
      const fresh = now ? changed(whole.written, now) : [];
      switched.replaceChildren(...marked(now ?? [], fresh));
      const leads = dark ? cut?.leads : whole.leads;
      difference.replaceChildren(...gap(place, leads, dark));
      say(told(place, weights, now, fresh));
    }

    const named = (word) => (isWord(word) ? italian(word) : "end");

    const signed = (change) => `${change.toFixed(1) > 0 ? "+" : ""}${shown(change, 1)}`;

    // How sure it is of a word: the logit of the word's rival minus its own.
    function gap(place, leads, dark) {
      if (dark && !cut) return ["Not yet known for these heads."];
      if (!leads || !whole.rivals) return [];
      const before = dark ? ` (with all heads ${shown(whole.leads[place], 1)})` : "";
      const [rival, word] = [whole.rivals[place], whole.written[place]];
      const over = leads[place] > 0 ? said`, so ${named(rival)} is ahead of ${named(word)}` : "";
      return said`logit of ${named(rival)} minus ${named(word)}:
        ${html("b", {}, shown(leads[place], 1))}${before}${over}`;
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
      const looked = lookedAt(weights).map(([word, some]) => `${some} at “${whole.source[word]}”`);
      const when = isWord(whole.written[place])
        ? said`When it wrote ${italian(`“${whole.written[place]}”`)}`
        : "When it ended the sentence";
      return said`${heads} ${known} ${when}, the ${weights.flat().length} heads of the cross-attention
        looked hardest: ${listed(looked)}.`;
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
      whole = { source: [], written: [], weights: [], leads: [], ids: [], against: [] };
      [cut, found] = [null, []];
      drawWords();
      drawResults();
      redraw();
    }

    // What is written with some gates, until a newer sentence takes over.
    async function written(loaded, source, open, check, forced) {
      const steps = [];
      const ids = idsOf(source, loaded);
      for await (const step of writing(loaded, ids, { gates: open, forced })) {
        check();
        steps.push(step);
        if (steps.length === forced?.length) break;
      }
      check();
      return steps;
    }

    const wordsIn = (loaded, steps) => steps.map(({ id }) => loaded.words.target[id]);

    // The same without some heads, and how sure it is of the words that all heads write.
    async function darkened(loaded, source, open, check) {
      const steps = await written(loaded, source, open, check);
      const { ids, against } = whole;
      const same = ids.every((id, i) => steps[i]?.id === id);
      const along = same ? steps : await written(loaded, source, open, check, ids);
      const leads = ids.map((id, i) => along[i].logits[against[i]] - along[i].logits[id]);
      return { words: wordsIn(loaded, steps), leads };
    }

    // What came with the page, where that is enough.
    function replay(_, check) {
      if (own || !recorded.has(maskOf(gates))) return false;
      check();
      if (whole.source !== first.source) {
        whole = { ...first, leads: recorded.get(0).leads };
        found = [];
        drawWords();
      }
      cut = recorded.get(maskOf(gates));
      if (wanted === "each") {
        found = headsOf(gates).map((head, i) => ({ head, ...recorded.get(2 ** i) }));
        summarise();
      }
      wanted = "";
      drawResults();
      redraw();
      return true;
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
        const steps = await written(loaded, source, gatesOf(shape), check);
        const all = wordsIn(loaded, steps), { target } = loaded.words;
        const ids = steps.map(({ id }) => id);
        const against = steps.map(({ id, likely }) => {
          const article = target.indexOf(otherGender[target[id]]);
          return article < 0 ? likely.find(([other]) => other !== id)[0] : article;
        });
        whole = { source, written: all, weights: steps.map(({ weights }) => weights), ids, against,
          rivals: against.map((id) => target[id]),
          leads: steps.map(({ logits, id }, i) => logits[against[i]] - logits[id]) };
        [own, found] = [true, []];
        drawWords();
        drawResults();
        choose({ word: Math.min(model.get("word"), all.length - 1) });
      }
      const asked = gates; // a click may replace these while the model writes
      const some = off().length ? await darkened(loaded, source, asked, check) : null;
      if (gates === asked) cut = some;
      redraw();
      if (scanning) await scan(loaded, source, check);
    }

    async function scan(loaded, source, check) {
      const each = [];
      for (const head of headsOf(gates))
        each.push({ head, ...await darkened(loaded, source, without(shape, head), check) });
      found = each;
      drawResults();
      redraw();
      summarise();
    }

    function summarise() {
      const count = changing().length;
      const few = count ? "Choose one of them to see it." : "The differences below say more.";
      status.textContent = `${status.textContent} Of ${found.length} heads, each switched off ` +
        `alone, ${count} ${count === 1 ? "changes" : "change"} this sentence. ${few}`.trim();
    }

    drawBoard();
    drawWords();
    const buttons = html("div", { class: "explorer-buttons" }, reset, each);
    return { update, stop, children: [absent, form, offered, buttons, status, results, sentences,
      result, verdict, asked, words, board] };
  }

  mount("ablation", { start, changed, lookedAt, build });
})();
