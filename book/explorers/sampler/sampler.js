// The tiny GPT writes (ch13): the reader's prompt, the distribution of the next character before and
// after temperature, top-k and top-p, and characters drawn from it with a seed. The logits after the
// first prompt come with the page; the model is fetched when the reader has it write.
(() => {
  const { html, button, slider, bar, headings, sum, counted, mount } = globalThis.explorerKit;
  const { FETCHING, languageModel } = globalThis.running;
  const SHOWN = 10; // of the likeliest characters
  const MANY = 80;
  const PAUSE = 30; // milliseconds between characters, where motion is welcome
  const start = { temperature: 1, top_k: 0, top_p: 1, seed: 1 }; // top_k 0: all are kept
  const load = languageModel("gpt");

  // What solutions/ch13_family.py's next_word_distribution makes of one row of logits. A top_k of 0
  // and a top_p of 1 keep all.
  function distribution(logits, { temperature = 1, top_k = 0, top_p = 1 } = {}) {
    const order = logits.map((_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
    const found = logits.map(() => 0);
    if (temperature === 0) {
      found[order[0]] = 1;
      return found;
    }
    const weights = order.map((id) => Math.exp((logits[id] - logits[order[0]]) / temperature));
    const renormalised = (numbers) => {
      const total = sum(numbers);
      return numbers.map((number) => number / total);
    };
    let kept = renormalised(weights);
    if (top_k) kept = renormalised(kept.slice(0, top_k));
    if (top_p < 1) {
      let total = 0;
      kept = renormalised(kept.map((share) => {
        total += share;
        return total - share >= top_p ? 0 : share; // dropped if those before it reach top_p
      }));
    }
    kept.forEach((share, rank) => { found[order[rank]] = share; });
    return found;
  }

  // A number from 0 to 1 (excluded) for each place of a seed's sequence: a state of the generator
  // mulberry32.
  function uniform(seed, place) {
    const state = (Math.imul(seed, 0x9e3779b1) + Math.imul(place + 1, 0x6d2b79f5)) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  // The id on which a number from 0 to 1 falls, where each id takes as much room as its probability.
  function drawn(probabilities, number) {
    let last = 0, total = 0;
    for (const [id, share] of probabilities.entries()) {
      if (!share) continue;
      last = id;
      total += share;
      if (number < total) return id;
    }
    return last; // where rounding leaves the total a little below 1
  }

  const NAMES = new Map([[" ", "space"], ["\n", "new line"]]);
  const named = (character) => NAMES.get(character) ?? character;
  const quoted = (character) =>
    NAMES.has(character) ? `a ${NAMES.get(character)}` : `“${character}”`;
  const percent = (share) => {
    if (share === 0) return "0%";
    return share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(1)}%`;
  };
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const rest = () => new Promise((resume) => setTimeout(resume, still() ? 0 : PAUSE));

  function build({ model, el, choose, redraw, verdict, say }) {
    let words = model.get("characters");
    let { prompt, logits } = model.get("first");
    let written = []; // characters
    let turn = 0; // a newer one ends what is being written
    let writing = false;
    let ready = null; // the loaded model

    const typing = { type: "text", maxlength: "300", autocomplete: "off", spellcheck: "false" };
    const input = html("input", { ...typing, class: "explorer-button", lang: "en" });
    input.value = prompt;
    let taken = prompt; // what was in the field when it was read
    const form = html("form", { class: "translator-form", onsubmit: (event) => {
      event.preventDefault();
      during(begin);
    } }, html("label", { class: "translator-label" }, html("span", {}, "Prompt"), input),
    html("button", { type: "submit", class: "explorer-button translator-go" }, "Read it"));
    const status = html("p", { class: "translator-status", role: "status" });

    const temperature = slider("Temperature", { min: 0, max: 2, step: 0.1 },
      (value) => choose({ temperature: value }));
    const top_k = slider("Top-k", { min: 1 }, (value) =>
      choose({ top_k: value >= words.length ? 0 : value }));
    const top_p = slider("Top-p", { min: 0.05, max: 1, step: 0.05 },
      (value) => choose({ top_p: value }));
    const seed = html("input", { type: "number", min: 0, max: 9999, step: 1, inputmode: "numeric",
      class: "explorer-button", onchange: () => {
        choose({ seed: Math.max(0, Math.min(9999, Math.round(Number(seed.value)) || 0)) });
      } });
    const seeded = html("label", { class: "explorer-field" }, html("span", {}, "Seed"), seed);
    const controls = html("div", { class: "explorer-controls" }, temperature.field, top_k.field,
      top_p.field, seeded);

    const one = button("Write one character", () => during((check) => write(1, check)));
    const many = button("", () => {
      if (writing) stop();
      else during((check) => write(MANY, check));
    }, "sampler-many");
    const over = button("Start over", () => during(begin));
    const buttons = html("div", { class: "explorer-buttons" }, one, many, over);
    const text = html("p", { class: "sampler-text", lang: "en" });
    const rows = html("tbody");
    const table = html("table", { class: "explorer-table sampler-table" },
      html("caption", {}, "The next character: ", html("span", { class: "sampler-before" },
        "before"), " and ", html("span", { class: "sampler-after" }, "after"), " your settings"),
      headings(["character", "", "before", "after"]), rows);

    function stop() {
      turn += 1;
      writing = false;
      redraw();
    }

    // Does something that may take a while, until something newer is asked for.
    async function during(task) {
      const mine = ++turn;
      const check = () => { if (mine !== turn) throw new Error("superseded"); };
      writing = true;
      status.textContent = ready ? "" : FETCHING;
      redraw();
      try {
        ready ??= await load();
        check();
        if (status.textContent === FETCHING) status.textContent = "";
        words = ready.words;
        await task(check);
      } catch (error) {
        if (error.message !== "superseded") status.textContent = error.message;
      } finally {
        if (mine === turn) {
          writing = false;
          el.dataset.finished = String(mine);
          redraw();
        }
      }
    }

    // The logits after the prompt and what was written, of which the model reads the end.
    async function read(check) {
      const ids = [...prompt, ...written].map((each) => ready.ids.get(each));
      const found = (await ready.score(ids.slice(-ready.longest))).at(-1);
      check();
      logits = found;
    }

    // Takes the prompt from its field, without characters that the model has never seen.
    async function begin(check) {
      taken = input.value;
      const typed = [...taken.normalize("NFC")];
      const known = typed.filter((each) => ready.ids.has(each));
      const unknown = [...new Set(typed.filter((each) => !ready.ids.has(each)))];
      if (!known.length) throw new Error("Type at least one character that the model knows.");
      status.textContent = unknown.length
        ? `Left out, because the model has never seen them: ${unknown.join(" ")}` : "";
      [prompt, written] = [known.join(""), []];
      await read(check);
      redraw();
    }

    async function write(count, check) {
      if (input.value !== taken) await begin(check);
      for (let i = 0; i < count; i += 1) {
        if (i) await rest();
        check();
        const id = drawn(distribution(logits, settings()), uniform(model.get("seed"),
          written.length));
        const before = [...written];
        written = [...written, ready.words[id]];
        try {
          await read(check);
        } catch (error) {
          written = before; // so that text and logits stay together
          throw error;
        }
        redraw();
      }
    }

    const settings = () => Object.fromEntries(["temperature", "top_k", "top_p"].map((key) =>
      [key, model.get(key)]));

    // A line of the table: a name, and the probability before and after.
    function line(name, [before, after], most, dropped) {
      const [grey, orange] = [bar(), bar()];
      grey.fill(before / most);
      orange.fill(after / most);
      const [thin] = grey.track.children;
      thin.classList.add("sampler-grey");
      orange.track.prepend(thin);
      orange.track.classList.toggle("sampler-none", after === 0);
      return html("tr", { class: dropped && "sampler-dropped" },
        html("th", { scope: "row" }, name), orange.track, html("td", {}, percent(before)),
        html("td", {}, dropped ? "dropped" : percent(after)));
    }

    function drawTable(before, after) {
      const order = before.map((_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
      const [best, others] = [order.slice(0, SHOWN), order.slice(SHOWN)];
      const total = (shares, ids) => sum(ids.map((id) => shares[id]));
      const rest = [total(before, others), total(after, others)];
      const most = Math.max(before[order[0]], after[order[0]], ...rest);
      const left = others.filter((id) => after[id] > 0).length;
      rows.replaceChildren(...best.map((id) => line(
        NAMES.has(words[id]) ? html("i", {}, named(words[id])) : words[id],
        [before[id], after[id]], most, after[id] === 0)),
      line(html("i", {}, left && left < others.length ? `${others.length} others, ${left} left`
        : counted(others.length, "other")), rest, most, left === 0));
      return order[0];
    }

    function update(now) {
      const before = distribution(logits);
      const after = distribution(logits, settings());
      const count = words.length;
      temperature.show(now.temperature, now.temperature.toFixed(1));
      top_k.input.max = count;
      top_k.show(now.top_k || count, now.top_k || "all", now.top_k ? `${now.top_k}` : "all");
      top_p.show(now.top_p, now.top_p === 1 ? "all" : now.top_p.toFixed(2),
        now.top_p === 1 ? "all" : now.top_p.toFixed(2));
      seed.value = now.seed;
      many.textContent = writing ? "Stop" : `Write ${MANY} more`;
      text.replaceChildren(prompt, html("strong", {}, written.join("")));
      const likeliest = drawTable(before, after);
      const kept = after.flatMap((share, id) => (share > 0 ? [id] : []));
      const had = sum(kept.map((id) => before[id]));
      const drop = kept.length === count ? `All ${count} characters can be drawn.`
        : `${kept.length} of ${counted(count, "character")} can still be drawn. Before, they had ${
          percent(had)} of the probability.`;
      const best = `${quoted(words[likeliest])} is the likeliest, with ${
        percent(before[likeliest])} before and ${percent(after[likeliest])} after.`;
      const last = written.length ? `Written so far: ${counted(written.length, "character")}. ` : "";
      say(`${last}${drop} ${best[0].toUpperCase()}${best.slice(1)}`);
    }

    return { update, stop: () => { turn += 1; },
      children: [form, status, text, buttons, controls, verdict, table] };
  }

  mount("sampler", { start, distribution, uniform, drawn, build });
})();
