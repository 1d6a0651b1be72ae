// Attention in tiles, stepped through block by block (ch11): the table of scores, of which one
// tile is in memory, and for each query what is known of all keys so far. The scores and the
// values, one number for each key, come with the state, with the words. The factor by which the
// old total was corrected has a column of its own, because it is the step that is forgotten.
(() => {
  const { html, headings, slider, checkbox, stepper, shown, mount } = globalThis.explorerKit;
  const start = { block: 3, step: 1, causal: false };

  // One description for each query: maximum, total and average, as `merge` of the notebook has
  // them. -Infinity is the maximum of no key at all.
  function compute({ scores, values, block, step, causal }) {
    const queries = scores.length, keys = values.length;
    const seen = (query, key) => !causal || key <= keys - queries + query;
    const blocks = Math.ceil(keys / block), now = Math.min(Math.max(step, 1), blocks);
    let running = scores.map(() => ({ maximum: -Infinity, total: 0, average: 0, shrunk: 1 }));
    for (let number = 0; number < now; number += 1) {
      const from = number * block, to = Math.min(from + block, keys);
      running = running.map((old, query) => {
        const there = scores[query].slice(from, to).map((score, i) => [score, values[from + i]])
          .filter((_, i) => seen(query, from + i));
        const maximum = Math.max(old.maximum, ...there.map(([score]) => score));
        const shrunk = old.total ? Math.exp(old.maximum - maximum) : 0;
        let total = shrunk * old.total, summed = total * old.average;
        for (const [score, value] of there) {
          total += Math.exp(score - maximum);
          summed += Math.exp(score - maximum) * value;
        }
        return { maximum, total, average: total ? summed / total : 0, shrunk };
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
    const known = scores.map(() => [html("td"), html("td"), html("td"), html("td")]);
    const description = html("table", { class: "tiles-known" },
      html("caption", {}, "What is known of all keys so far"),
      headings(["", "maximum", "old total \u00d7", "total", "average"]),
      html("tbody", {}, ...known.map((row, i) => html("tr", {},
        html("th", { scope: "row", class: "tiles-query" }, queries[i]), ...row))));

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
      known.forEach(([maximum, shrunk, total, average], query) => {
        const each = found.running[query];
        maximum.textContent = number(each.maximum);
        shrunk.textContent = each.shrunk ? shown(each.shrunk) : "\u2013"; // nothing was known before
        total.textContent = number(each.total);
        average.textContent = number(each.average);
      });
      const end = found.done ? " All keys have gone by: the averages are the output." : "";
      say(`Block ${found.now} of ${found.blocks}. ${found.tile} scores are in memory, and the whole
        table would have ${found.table}.${end}`.replace(/\s+/g, " "));
    }
    return { update, children: [controls, verdict, table, description] };
  }

  mount("tiles", { start, compute, build });
})();
