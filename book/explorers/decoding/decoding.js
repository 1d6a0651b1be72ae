// Decoding, word by word: the sentence so far, where each head of the cross-attention looks, and
// the scores of the next word. The decoders were trained by the page and run here, so that a reader
// can write another word than the likeliest, or hide a word of the source from the cross-attention,
// and see how the model goes on.
(() => {
  const { html, headings, bar, slider, picker, stepper, sum, largestAt, softmax, shown, listed,
    italian, said, mount } = globalThis.explorerKit;
  const SHOWN = 5; // of the likeliest next words
  const [BOS, EOS] = [1, 2];
  const SPECIAL = 3; // ids below are <pad>, <bos> and <eos>
  const EPS = 1e-5; // as in solutions/ch07_layers.py
  const NTH = ["first", "second", "third"]; // of words that come more than once
  const start = { sentence: 0, step: 0, decoder: 0, begun: [], hidden: [] };

  // A decoder's matrices, as lists of rows; `packed_decoder` of toy_translation.py packs them.
  const unpacked = new WeakMap();
  function unpack(packed) {
    if (!unpacked.has(packed)) {
      const bytes = Uint8Array.from(atob(packed.numbers), (sign) => sign.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      let at = 0;
      const row = (length) =>
        Array.from({ length }, () => packed.unit * view.getInt16(2 * at++, true));
      const matrix = ([name, [rows, columns]]) =>
        [name, Array.from({ length: rows }, () => row(columns))];
      const matrices = Object.fromEntries(Object.entries(packed.shapes).map(matrix));
      unpacked.set(packed, { heads: packed.heads, ...matrices });
    }
    return unpacked.get(packed);
  }

  // Vectors are lists, and a sequence of them a list of rows.
  const dot = (one, other) => one.reduce((total, number, i) => total + number * other[i], 0);
  const added = (rows, others) =>
    rows.map((row, place) => row.map((number, i) => number + others[place][i]));
  const linear = (rows, matrix) => // whose last column is the bias
    rows.map((row) => matrix.map((line) => dot(row, line) + line[row.length]));
  const relu = (rows) => rows.map((row) => row.map((number) => Math.max(0, number)));
  const norm = (rows, [gain, bias]) => rows.map((row) => {
    const mean = sum(row) / row.length;
    const variance = sum(row.map((number) => (number - mean) ** 2)) / row.length;
    return row.map((number, i) => (number - mean) / Math.sqrt(variance + EPS) * gain[i] + bias[i]);
  });

  // Attention of several heads; `hidden(query, key)` says which keys a query must not see.
  function attend(heads, queries, keys, values, hidden) {
    const width = queries[0].length / heads;
    const part = (row, head) => row.slice(head * width, (head + 1) * width);
    const weights = Array.from({ length: heads }, (_, head) => queries.map((query, place) =>
      softmax(keys.map((key, other) => (hidden(place, other) ? -Infinity
        : dot(part(query, head), part(key, head)) / Math.sqrt(width))))));
    const found = queries.map((_, place) => values[0].map((_, feature) =>
      dot(weights[Math.floor(feature / width)][place], values.map((value) => value[feature]))));
    return { weights, found };
  }

  // What DecoderLayer of solutions/ch08_encoder_decoder.py does, and embedding and generator around
  // it; `hidden` are places of the source that the cross-attention must not see. Returns the logits
  // at each place, and the weights over the source, heads × places.
  function decode(packed, sentence, ids, hidden = []) {
    const own = unpack(packed);
    let x = added(ids.map((id) => own.words[id]), own.positions);
    const [asks, has, gives] = ["q", "k", "v"].map((name) => linear(x, own[`self_${name}`]));
    const future = (query, key) => key > query || (key > 0 && ids[key] === 0);
    const back = attend(own.heads, asks, has, gives, future);
    x = norm(added(x, linear(back.found, own.self_o)), own.norm_1);
    const [keys, values] = [own[`keys_${sentence}`], own[`values_${sentence}`]];
    const across = attend(own.heads, linear(x, own.cross_q), keys, values,
      (_, key) => hidden.includes(key));
    x = norm(added(x, linear(across.found, own.cross_o)), own.norm_2);
    const thought = linear(relu(linear(x, own.linear_1)), own.linear_2);
    x = norm(added(x, thought), own.norm_3);
    return { logits: linear(x, own.generator), weights: across.weights };
  }

  // What solutions/ch08_encoder_decoder.py does at one step: the softmax over the logits, and the
  // word with the largest.
  function compute({ logits }) {
    const order = logits.map((_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
    return { probabilities: softmax(logits), order, next: order[0] };
  }

  // Greedy decoding from a beginning; the ids without <bos>.
  function goOn(packed, sentence, begun, hidden) {
    const longest = unpack(packed).positions.length;
    const ids = [BOS, ...begun];
    while (ids.at(-1) !== EOS && ids.length < longest)
      ids.push(largestAt(decode(packed, sentence, ids, hidden).logits.at(-1)));
    return ids.slice(1);
  }

  // What the page's model writes; what is `given` comes from elsewhere.
  const outcome = (model, { sentence, decoder = 0, begun = [], hidden = [] }, given) =>
    ({ chosen: goOn(model.get("decoders")[decoder], sentence, begun, hidden), ...given });

  // The average of the heads for each word of the source.
  const average = (heads) =>
    heads[0].map((_, word) => sum(heads.map((weights) => weights[word])) / heads.length);

  // The words of a source, each told apart from its likes: "first cat", "second cat".
  const apart = (source) => source.map((word, place) => {
    const twins = source.filter((other) => other === word).length;
    const nth = source.slice(0, place).filter((other) => other === word).length;
    return twins === 1 ? ["", word] : [NTH[nth] ?? `${nth + 1}.`, word];
  });

  // Where the heads look most, those that agree together.
  function mostLookedAt(heads, source) {
    const names = apart(source).map(([nth, word]) => `${nth ? `the ${nth} ` : ""}“${word}”`);
    const most = heads.map(largestAt);
    const places = [...new Set(most)];
    if (places.length === 1) {
      const [place] = places;
      const share = average(heads)[place].toFixed(2);
      return `All heads look most at ${names[place]}, with ${share} on average.`;
    }
    const groups = places.map((place, i) => {
      const those = most.flatMap((each, head) => (each === place ? [`${head}`] : []));
      const looks = those.length > 1 ? "look most " : "looks most ";
      return `${those.length > 1 ? "heads" : "head"} ${listed(those).join("")} ` +
        `${i ? "" : looks}at ${names[place]}`;
    });
    return `The heads divide: ${listed(groups).join("")}.`;
  }

  const percent = (share) => {
    if (share > 0.999) return "over 99.9%";
    return share < 0.001 ? "under 0.1%" : `${(100 * share).toFixed(1)}%`;
  };

  function build({ model, choose, verdict, say }) {
    const sentences = model.get("sentences");
    const decoders = model.get("decoders");
    const vocabulary = model.get("vocabulary");
    const open = model.get("computed") === undefined; // in a page, where no function chooses
    // What is shown: the words written, which of them is looked at, and what the decoder says.
    const seen = (now, answer) => {
      const inputs = { ...now, ...answer?.inputs };
      const { chosen } = outcome(model, inputs, answer?.numbers);
      const step = Math.min(now.step, chosen.length - 1);
      const { source } = sentences[inputs.sentence];
      const ids = [BOS, ...chosen.slice(0, -1)];
      const { decoder, sentence, hidden } = inputs;
      return { source, chosen, step, hidden, ...decode(decoders[decoder], sentence, ids, hidden) };
    };
    const current = () => {
      const now = Object.fromEntries(Object.keys(start).map((key) => [key, model.get(key)]));
      return seen(now, model.get("computed"));
    };
    const again = { step: 0, begun: [], hidden: [] };

    const sources = sentences.map(({ source }) => source.join(" "));
    const chooser = picker("Sentence", sources, (sentence) => choose({ ...again, sentence }));
    const names = decoders.map(({ name }) => name);
    const trained = picker("Model", names, (decoder) => choose({ step: 0, begun: [], decoder }));
    const pace = slider("Step", { min: 1 }, (step) => choose({ step: step - 1 }));
    const buttons = stepper("Write the next word", (by) => {
      const { chosen, step } = current();
      choose({ step: Math.max(0, Math.min(chosen.length - 1, step + by)) });
    });
    const controls = html("div", { class: "explorer-controls" },
      chooser.field, ...(decoders.length > 1 ? [trained.field] : []), pace.field, buttons.field);

    const written = html("p", { class: "decoding-written explorer-result" });
    const question = html("caption");
    const candidates = Array.from({ length: SHOWN }, (_, rank) => {
      const { track, fill } = bar();
      const onclick = () => write(rank);
      const word = open
        ? html("button", { type: "button", class: "explorer-button decoding-word", onclick })
        : html("span");
      const [logit, share] = [html("td"), html("td")];
      const row = html("tr", {}, html("th", { scope: "row" }, word), track, logit, share);
      return { row, word, fill, logit, share };
    });
    const words = html("table", { class: "explorer-table decoding-words" },
      question, headings(["word", "", "logit", "probability"]),
      html("tbody", {}, ...candidates.map(({ row }) => row)));
    const looks = html("table", { class: "explorer-table decoding-looks" });

    // Writes one of the words that are offered, instead of what is there.
    function write(rank) {
      const { logits, chosen, step } = current();
      const id = compute({ logits: logits[step] }).order[rank];
      const kept = id === chosen[step];
      choose(kept ? { step: step + 1 } : { begun: [...chosen.slice(0, step), id], step: step + 1 });
    }

    function drawCandidates({ probabilities, order }, logits, taken) {
      candidates.forEach(({ row, word, fill, logit, share }, rank) => {
        const id = order[rank];
        row.classList.toggle("decoding-best", rank === 0);
        word.replaceChildren(italian(vocabulary[id]));
        if (open) word.setAttribute("aria-pressed", id === taken);
        fill(probabilities[id]);
        logit.textContent = shown(logits[id]);
        share.textContent = percent(probabilities[id]);
      });
    }

    // Hides a word of the source from the cross-attention, or shows it again; one stays in sight.
    function hide(place) {
      const { hidden, step } = current();
      const now = hidden.includes(place) ? hidden.filter((other) => other !== place)
        : [...hidden, place];
      choose({ hidden: now, step });
    }

    function drawLooks(source, heads, hidden) {
      const columns = [...heads, average(heads)];
      const cell = (weight) => {
        const td = html("td", { class: "explorer-heat" }, weight.toFixed(2));
        td.style.setProperty("--weight", weight.toFixed(3));
        return td;
      };
      const names = ["head", ...heads.map((_, head) => `${head}`), "mean"];
      const focused = [...looks.querySelectorAll("button")].indexOf(document.activeElement);
      looks.replaceChildren(
        html("caption", {}, `Where the heads look${open ? ". Press a word to hide it." : ""}`),
        headings(names),
        html("tbody", {}, ...apart(source).map((names, place) => {
          const cells = columns.map((weights) => cell(weights[place]));
          const off = hidden.includes(place);
          const text = names.join(" ").trim();
          const word = open ? html("button", { type: "button", "aria-pressed": String(off),
            class: "explorer-button decoding-source", onclick: () => hide(place) }, text) : text;
          if (open) word.disabled = !off && hidden.length === source.length - 1;
          const row = html("tr", {}, html("th", { scope: "row" }, word), ...cells);
          row.classList.toggle("decoding-off", off);
          return row;
        })));
      if (focused >= 0) looks.querySelectorAll("button")[focused].focus();
    }

    function update(now, answer) {
      const { source, chosen, step, logits, weights } = seen(now, answer);
      const hidden = open ? now.hidden : [];
      const attention = weights.map((places) => places[step]);
      const result = compute({ logits: logits[step] });
      const id = chosen[step];
      const count = chosen.length;
      const spoken = (id) => italian(`“${vocabulary[id]}”`);
      const before = step ? chosen[step - 1] : BOS;

      chooser.input.value = now.sentence;
      trained.input.value = now.decoder;
      pace.input.max = count;
      pace.show(step + 1, `${step + 1} of ${count}`, `step ${step + 1} of ${count}`);
      buttons.show(step + 1, count);
      const texts = [BOS, ...chosen.slice(0, step + 1)].map((each, place) => {
        const text = italian(vocabulary[each]);
        const own = place && each !== largestAt(logits[place - 1]);
        if (own) text.classList.add("decoding-own");
        return place === step + 1 ? html("strong", {}, text) : text;
      });
      written.replaceChildren(...texts.flatMap((each) => [each, " "]));
      question.replaceChildren("What could come after ", spoken(before),
        open ? "? Press a word to write it." : "");
      drawCandidates(result, logits[step], id);
      drawLooks(source, attention, hidden);

      const most = percent(result.probabilities[result.next]);
      const likelier = id === result.next ? ""
        : said` The likeliest was ${spoken(result.next)}, with ${most}.`;
      const next = said`After ${spoken(before)} comes ${spoken(id)}, with a probability of
        ${percent(result.probabilities[id])}.`;
      const end = id < SPECIAL ? " The sentence ends here." : "";
      const names = apart(source);
      const gone = hidden.map((place) => `“${names[place].join(" ").trim()}”`);
      const without = gone.length ? `Hidden: ${listed(gone).join("")}. ` : "";
      say([without, next, likelier, ` ${mostLookedAt(attention, source)}${end}`]);
    }
    const parts = html("div", { class: "explorer-parts explorer-result" }, words, looks);
    return { update, children: [controls, written, parts, verdict] };
  }

  mount("decoding", { start, compute, outcome, decode, build });
})();
