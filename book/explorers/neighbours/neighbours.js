// Which words are next to each other in a table trained on a book. The reader chooses a word, sees
// its row and those of its nearest neighbours as coloured bars, and goes on from any of them.
(() => {
  const { html, picker, chips, groupName, button, sum, listed, mount } = globalThis.explorerKit;
  const NEAREST = 5;

  // The cosine of a word with every word, largest first; itself is left out.
  function compute({ tables, word, training }) {
    const table = tables[training];
    const lengths = table.map((row) => Math.sqrt(sum(row.map((number) => number ** 2))));
    const product = (one, other) => sum(one.map((number, column) => number * other[column]));
    const found = table.map((row, id) =>
      ({ id, cosine: product(row, table[word]) / (lengths[id] * lengths[word]) }));
    return found.filter(({ id }) => id !== word).sort((a, b) => b.cosine - a.cosine);
  }

  function build({ model, choose, verdict, say }) {
    const [words, tables] = [model.get("words"), model.get("tables")];
    const largest = Math.max(...tables.flat(2).map(Math.abs));
    const order = words.map((_, id) => id).sort((a, b) => words[a].localeCompare(words[b], "en"));
    const word = picker("Word", order.map((id) => words[id]), (place) =>
      choose({ word: order[place] }));
    const named = groupName();
    const starts = chips(tables.map((_, i) => `training ${i + 1}`), (training) =>
      choose({ training }));
    const which = html("div",
      { class: "explorer-chips", role: "radiogroup", "aria-labelledby": named }, ...starts.all);
    const controls = html("div", { class: "explorer-controls" }, word.field,
      html("div", {}, html("span", { id: named }, "Random start"), which));
    const body = html("tbody", {});
    const column = (text) => html("th", { scope: "col" }, text);
    const shown = html("table", { class: "neighbours-rows" },
      html("thead", {}, html("tr", {}, column("word"),
        html("td", { "aria-hidden": "true" }, "its row of 16 numbers"), column("cosine"))), body);

    function bars(row) {
      const cells = row.map((number) => {
        const colour = number < 0 ? "minus" : "plus";
        const share = `--share: ${Math.round((100 * Math.abs(number)) / largest)}%`;
        return html("i", { class: `neighbours-${colour}`, style: share });
      });
      return html("td", { "aria-hidden": "true" }, html("div", { class: "neighbours-bar" }, ...cells));
    }
    const line = (first, id, cosine, table, kind = "") => html("tr", { class: kind },
      html("th", { scope: "row" }, first), bars(table[id]), html("td", {}, cosine.toFixed(2)));

    function update(now) {
      const found = compute({ tables, ...now }).slice(0, NEAREST);
      const table = tables[now.training];
      const focused = body.contains(document.activeElement);
      word.input.value = order.indexOf(now.word);
      starts.inputs.forEach((input, i) => { input.checked = i === now.training; });
      const others = found.map(({ id, cosine }) =>
        line(button(words[id], () => choose({ word: id })), id, cosine, table));
      body.replaceChildren(line(words[now.word], now.word, 1, table, "neighbours-chosen"), ...others);
      if (focused) body.querySelector("button").focus();
      const names = listed(found.map(({ id }) => `“${words[id]}”`)).join("");
      say(`In training ${now.training + 1}, the nearest to “${words[now.word]}” are ${names}.`);
    }
    return { update, children: [controls, shown, verdict] };
  }

  mount("neighbours", { start: { training: 0 }, moved: ["word"], compute, build });
})();
