// The trained translator with and without its cache (ch11): for each word that it writes, the
// positions that its decoder computes and the multiplications that this takes. One sentence comes
// with the page; the model is fetched when the reader asks for another, and then writes it twice.
(() => {
  const { html, slider, shown, counted, italian, said, mount } = globalThis.explorerKit;
  const { writing, idsOf, joined, isWord, asking, pause } = globalThis.translating;
  const MILLION = 1e6;
  const WAYS = ["with", "without"];
  const start = { word: 1 };

  // The multiplications of the products in the decoder's layers, where some positions are new and
  // `length` counts all of them: six projections and two layers of the feed-forward network for
  // each new position, its scores and averages over what was written, and over the source.
  function multiplications({ d_model: width, d_ff: inner, num_decoder_layers: layers },
    { positions, length, source }) {
    const each = 6 * width * width + 2 * width * inner + 2 * width * (length + source);
    return layers * positions * each;
  }

  // The work for each word, and for all words so far. `positions` holds for each word how many the
  // decoder computed, with the cache and without.
  function compute({ shape, source, positions }) {
    const total = { with: [0, 0], without: [0, 0] };
    return positions.map((both, place) => {
      const row = { so_far: {} };
      for (const way of WAYS) {
        const work = { positions: both[way], length: place + 1, source };
        row[way] = { positions: both[way], multiplications: multiplications(shape, work) };
        total[way][0] += row[way].positions;
        total[way][1] += row[way].multiplications;
        row.so_far[way] = { positions: total[way][0], multiplications: total[way][1] };
      }
      return row;
    });
  }

  function build({ model, el, choose, verdict, say }) {
    const first = model.get("first");
    const numbered = (words) => words.map((_, i) => ({ with: 1, without: i + 1 }));
    let now = { source: first.source, written: first.written, positions: numbered(first.written),
      shape: model.get("shape") };

    const { form, offered, status, stop } = asking({ el, value: first.source.join(" "),
      examples: model.get("examples"), write, refuse, still: () => joined(now.source) });
    const sentence = html("p", { class: "cache-sentence", lang: "it" });
    const walk = slider("Words written", { min: 1, max: now.written.length },
      (word) => choose({ word }));
    const column = (name, attributes = {}) => html("th", { scope: "col", ...attributes }, name);
    const over = (name) => column(name, { scope: "colgroup", colspan: 2 });
    const head = html("thead", {},
      html("tr", {}, html("td"), over("positions"), over("multiplications, millions")),
      html("tr", {}, column("word"), ...[...WAYS, ...WAYS].map((way) => column(way))));
    const rows = html("tbody"), totals = html("tfoot");
    const table = html("table", { class: "explorer-table cache-table" },
      html("caption", {}, "Work of the decoder’s layers, word by word"),
      head,
      rows, totals);
    const note = html("p", { class: "explorer-note" },
      "Reading the source and scoring the vocabulary are not counted, because they take the same " +
      "work both ways.");

    const named = (word) => (isWord(word) ? italian(`“${word}”`) : "the end");
    const millions = (number) => shown(number / MILLION, 3);
    const line = (name, row) => html("tr", {}, html("th", { scope: "row" }, name),
      ...["positions", "multiplications"].flatMap((what) => WAYS.map((way) =>
        html("td", {}, what === "positions" ? `${row[way][what]}` : millions(row[way][what])))));

    function update({ word }) {
      const found = compute({ ...now, source: now.source.length });
      const last = Math.min(word, found.length);
      walk.input.max = Math.max(1, found.length);
      walk.show(last, last ? `${last} of ${found.length}` : "", counted(last, "word"));
      sentence.textContent = joined(now.written.slice(0, last).filter(isWord));
      rows.replaceChildren(...found.slice(0, last).map((row, i) =>
        line(isWord(now.written[i]) ? italian(now.written[i]) : "end", row)));
      totals.replaceChildren(...(last ? [line("so far", found[last - 1].so_far)] : []));
      if (!last) {
        say("Nothing is written.");
        return;
      }
      const { with: cached, without, so_far: all } = found[last - 1];
      say(said`With the cache the decoder computes ${counted(cached.positions, "position")} for
        ${named(now.written[last - 1])}, which takes ${millions(cached.multiplications)} million
        multiplications. Without it, ${counted(without.positions, "position")} would take
        ${millions(without.multiplications)} million. So far it has computed
        ${counted(all.with.positions, "position")}, and without the cache it would have computed
        ${all.without.positions}.`);
    }

    function refuse() {
      now = { ...now, source: [], written: [], positions: [] };
      choose({ word: 1 });
    }

    // Both ways write in turn, a word each, and what each has computed is counted.
    async function write(loaded, words, check) {
      const ids = idsOf(words, loaded);
      const whole = writing(loaded, ids, { cached: false });
      now = { source: words, written: [], positions: [], shape: loaded.words.shape };
      let same = true;
      for await (const step of writing(loaded, ids)) {
        const { value: other } = await whole.next();
        check();
        same &&= step.id === other.id;
        now.written.push(loaded.words.target[step.id]);
        now.positions.push({ with: step.positions, without: other.positions });
        choose({ word: now.written.length });
        await pause();
      }
      check();
      const outcome = same ? "Both ways wrote the same words."
        : "The two ways wrote different words, which rounding can cause where two are about as likely.";
      status.textContent = `${status.textContent} ${outcome}`.trim();
    }

    return { update, stop, children: [form, status, offered, sentence, walk.field, verdict, table,
      note] };
  }

  mount("cache", { start, compute, build });
})();
