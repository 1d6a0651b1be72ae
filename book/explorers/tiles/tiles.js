// Attention in tiles, stepped through block by block (ch11): the table of scores, of which one
// tile is in memory, and for each query what is known of all keys so far. The scores and the
// values, one number for each key, come with the state, with the words. For one query the merge of
// this step is shown in full, so that a reader can redo it: both totals are corrected, and to
// correct them is the step that is forgotten.
(() => {
  const { html, headings, slider, checkbox, picker, stepper, shown, sum, mount } =
    globalThis.explorerKit;
  const start = { block: 3, step: 1, causal: false, query: 0 };
  const NOTHING = { maximum: -Infinity, total: 0, average: 0 };

  // Maximum, total and average of pairs of a score and a value, as the page's `described` has them.
  function described(pairs) {
    if (!pairs.length) return NOTHING;
    const maximum = Math.max(...pairs.map(([score]) => score));
    const shares = pairs.map(([score]) => Math.exp(score - maximum));
    const total = sum(shares);
    return { maximum, total, average: sum(pairs.map(([, value], i) => shares[i] * value)) / total };
  }

  // The description of both sets, as `merge` of the notebook has it, and what was merged: each set
  // with what is left of its total when it is measured from the new maximum.
  function merge(old, fresh) {
    const maximum = Math.max(old.maximum, fresh.maximum);
    const left = ({ maximum: own, total }) => (total ? Math.exp(own - maximum) * total : 0);
    const parts = [old, fresh].map((each) => ({ ...each, left: left(each) }));
    const total = parts[0].left + parts[1].left;
    const average = total ? sum(parts.map((each) => each.left * each.average)) / total : 0;
    return { maximum, total, average, parts };
  }

  function compute({ scores, values, block, step, causal }) {
    const queries = scores.length, keys = values.length;
    const seen = (query, key) => !causal || key <= keys - queries + query;
    const blocks = Math.ceil(keys / block), now = Math.min(Math.max(step, 1), blocks);
    let running = scores.map(() => NOTHING);
    for (let number = 0; number < now; number += 1) {
      const from = number * block, to = Math.min(from + block, keys);
      running = running.map(({ maximum, total, average }, query) => {
        const there = scores[query].slice(from, to).map((score, i) => [score, values[from + i]])
          .filter((_, i) => seen(query, from + i));
        return merge({ maximum, total, average }, described(there));
      });
    }
    const from = (now - 1) * block, to = Math.min(from + block, keys);
    return { running, now, blocks, from, to, seen, tile: queries * (to - from),
      table: queries * keys, done: now === blocks };
  }

  const place = (key, { from, to }) => (key < from ? "gone" : key < to ? "now" : "later");

  function build({ model, choose, verdict, say }) {
    const [scores, values, queries, keys] = ["scores", "values", "queries", "keys"]
      .map((name) => model.get(name));
    const block = slider("Keys in a block", { min: 1, max: keys.length },
      (value) => choose({ block: value, step: 1 }));
    const causal = checkbox("causal: no query sees a later word",
      (on) => choose({ causal: on, step: 1 }));
    const walk = stepper("Next block", (by) => choose({ step: model.get("step") + by }));
    const chosen = picker("Merge shown for the query", queries, (query) => choose({ query }));
    const controls = html("div", { class: "explorer-controls" }, block.field, causal.field,
      walk.field);

    const cells = scores.map((row) => row.map(() => html("td")));
    const table = html("table", { class: "tiles-scores" },
      html("caption", {}, "Scores: one row for each query"),
      headings(["", ...keys]),
      html("tbody", {}, ...cells.map((row, i) => html("tr", {},
        html("th", { scope: "row", class: "tiles-query" }, queries[i]), ...row))),
      html("tfoot", {}, html("tr", {}, html("th", { scope: "row" }, "value"),
        ...values.map((value) => html("td", {}, `${value}`)))));
    const row = (name, cells, attributes = {}) =>
      html("tr", {}, html("th", { scope: "row", ...attributes }, name), ...cells);
    const empty = (count) => Array.from({ length: count }, () => html("td"));
    const known = scores.map(() => empty(3));
    const description = html("table", { class: "tiles-known" },
      html("caption", {}, "What is known of all keys so far"),
      headings(["", "maximum", "total", "average"]),
      html("tbody", {},
        ...known.map((cells, i) => row(queries[i], cells, { class: "tiles-query" }))));
    const merged = [empty(4), empty(4), empty(4)];
    const sets = ["known before", "new block", "together"];
    const merging = html("table", { class: "tiles-known tiles-merge" },
      html("caption", {}, "The merge of this step, for one query"),
      headings(["", "maximum", "total", "shrinks to", "average"]),
      html("tbody", {}, ...sets.map((name, i) => row(name, merged[i]))));

    const number = (value) => (value === -Infinity ? "−∞" : shown(value));
    function update(now) {
      const found = compute({ scores, values, ...now });
      block.show(now.block, now.block, `${now.block} of ${keys.length} keys`);
      causal.input.checked = now.causal;
      walk.show(found.now, found.blocks);
      cells.forEach((row, query) => row.forEach((cell, key) => {
        const where = place(key, found);
        cell.className = `tiles-${where}`;
        const score = found.seen(query, key) ? shown(scores[query][key], 1) : "−∞";
        cell.textContent = where === "now" ? score : where === "gone" ? "·" : "";
      }));
      chosen.input.value = now.query;
      known.forEach(([maximum, total, average], query) => {
        const each = found.running[query];
        maximum.textContent = number(each.maximum);
        total.textContent = number(each.total);
        average.textContent = number(each.average);
      });
      const whole = found.running[now.query];
      [...whole.parts, whole].forEach(({ maximum, total, left, average }, i) => {
        const written = [number(maximum), shown(total), left === undefined ? "" : shown(left),
          total ? shown(average) : "–"]; // no key, no average
        merged[i].forEach((cell, place) => { cell.textContent = written[place]; });
      });
      const end = found.done ? " All keys have gone by: the averages are the output." : "";
      say(`Block ${found.now} of ${found.blocks}. ${found.tile} scores are in memory, and the whole
        table would have ${found.table}.${end}`.replace(/\s+/g, " "));
    }
    return { update, children: [controls, verdict, table, description,
      chosen.field, merging] };
  }

  mount("tiles", { start, compute, build });
})();
