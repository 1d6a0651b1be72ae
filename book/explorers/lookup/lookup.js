// One-hot times table = a row lookup. The reader writes a short sentence, follows one of its
// positions through the product, and changes an entry of the table to see which outputs change.
(() => {
  const { html, draw, svg, button, chips, groupName, walked, sum, listed, mount } =
    globalThis.explorerKit;
  const LONGEST = 6; // (said in words below) positions that are shown; `compute` has no limit

  const split = (sentence) => sentence.split(/\s+/).filter(Boolean);

  // The whole arithmetic. It must equal solutions/ch01_embeddings.py: encode, one_hot, embed.
  function compute({ sentence, vocabulary, table }) {
    const known = new Map(Object.entries(vocabulary));
    const tokens = split(sentence);
    const ids = tokens.map((token) => known.get(token) ?? known.get("<unk>"));
    const [vocabSize, width] = [table.length, table[0].length];
    const oneHot = ids.map((id) => table.map((_, row) => (row === id ? 1 : 0)));
    const product = oneHot.map((flags) =>
      table[0].map((_, column) => sum(flags.map((flag, row) => flag * table[row][column]))));
    return {
      tokens,
      ids,
      oneHot,
      product,
      lookup: ids.map((id) => [...table[id]]),
      multiplications: ids.length * vocabSize * width,
      multiplicationsByZero: ids.length * (vocabSize - 1) * width,
      copied: ids.length * width,
    };
  }

  // What there is to see; what is `given` comes from elsewhere.
  function outcome(model, { sentence, table }, given) {
    const first = split(sentence).slice(0, LONGEST).join(" ");
    const vocabulary = model.get("vocabulary");
    return { ...compute({ sentence: first, vocabulary, table }), ...given };
  }

  // With one decimal, as the table's numbers have; a number of a learner's may have more.
  function show(number) {
    const tenths = Math.abs(number * 10 - Math.round(number * 10)) < 1e-6;
    return (tenths ? number.toFixed(1) : number.toPrecision(3)).replace("-", "−");
  }

  const positions = (places) =>
    `position${places.length > 1 ? "s" : ""} ${listed(places).join("")}`;

  const caption = (text, shape) =>
    html("caption", {}, text, html("span", { class: "lookup-shape" }, shape));
  const wordHeading = (word, ...children) =>
    html("th", { scope: "row", class: "lookup-word", title: word }, ...children);
  const numbered = (numbers) =>
    numbers.map((_, column) => html("th", { scope: "col" }, String(column)));
  const row = (on, ...cells) => html("tr", { class: on && "lookup-on" }, ...cells);

  function fill(table, heading, head, body) {
    const thead = html("thead", {}, html("tr", {}, ...head));
    table.replaceChildren(heading, thead, html("tbody", {}, ...body));
  }

  function drawHot(table, words, { tokens, ids, oneHot }, follow) {
    const head = words.map((word, id) => {
      const on = id === ids[follow] && "lookup-on";
      return html("th", { scope: "col", title: word, class: on }, String(id));
    });
    const cell = (flag) => html("td", { class: flag ? "lookup-one" : "lookup-zero" },
      Number.isInteger(flag) ? String(flag) : show(flag));
    const body = oneHot.map((flags, place) =>
      row(place === follow, wordHeading(tokens[place], tokens[place]), ...flags.map(cell)));
    const shape = `${ids.length} × ${words.length}`;
    fill(table, caption("One-hot", shape), [html("td"), ...head], body);
  }

  function drawOut(table, start, { tokens, ids, product }, follow) {
    const changed = (number, place, column) =>
      number !== start[ids[place]][column] && "lookup-changed";
    const body = product.map((numbers, place) => row(place === follow,
      html("th", { scope: "row", class: "explorer-hidden" }, tokens[place]),
      ...numbers.map((number, column) =>
        html("td", { class: changed(number, place, column) }, show(number)))));
    const head = [html("td", { class: "explorer-hidden" }), ...numbered(product[0] ?? [])];
    fill(table, caption("Product", `${ids.length} × ${start[0].length}`), head, body);
  }

  // The path of the followed row: from one-hot to table, and from table to product. Where the table
  // is below, as on a phone, the first part goes around the other rows.
  function drawWay(line, field, matrices) {
    const origin = field.getBoundingClientRect();
    const bands = matrices.map((matrix) => matrix.querySelector("tbody .lookup-on"));
    const curves = [];
    if (bands.every(Boolean)) {
      const [hot, entries, out] = bands.map((band) => band.getBoundingClientRect());
      for (const [from, to] of [[hot, entries], [entries, out]]) {
        if (from.right > to.left) { // around the numbers, and in from the left
          const below = matrices[0].getBoundingClientRect().bottom - origin.top + 6;
          const [side, goal] = [to.left - origin.left, (to.top + to.bottom) / 2 - origin.top];
          const out = `M${from.right - origin.left} ${(from.top + from.bottom) / 2 - origin.top}h8`;
          curves.push(`${out}V${below}H${side - 8}V${goal}h8`);
          continue;
        }
        const [x1, x2] = [from.right - origin.left, to.left - origin.left];
        const [y1, y2] = [from, to].map((one) => (one.top + one.bottom) / 2 - origin.top);
        const middle = (x1 + x2) / 2;
        curves.push(`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`);
      }
    }
    line.setAttribute("d", curves.join(""));
  }

  function build({ model, choose, redraw, verdict, say }) {
    const uid = groupName();
    const start = model.get("table").map((numbers) => [...numbers]);
    const vocabulary = model.get("vocabulary");
    const words = Object.keys(vocabulary).sort((a, b) => vocabulary[a] - vocabulary[b]);
    const ordinary = words.filter((word) => !word.startsWith("<"));
    const view = { follow: 0, row: vocabulary[ordinary[0]], column: 0, news: "" };

    // in a notebook, what the learner's functions returned for `inputs`; in a page, nothing
    const answer = () => model.get("computed");
    const asked = () =>
      answer()?.inputs ?? { sentence: model.get("sentence"), table: model.get("table") };
    const result = () => outcome(model, asked(), answer()?.numbers);

    // The sentence, which is typed or put together with buttons.
    const input = html("input", {
      type: "text",
      class: "explorer-button",
      id: `${uid}-sentence`,
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
      maxlength: 80,
      oninput() {
        view.news = "";
        const before = written();
        const changed = split(input.value).findIndex((token, place) => token !== before[place]);
        if (changed >= 0 && changed < LONGEST) view.follow = changed;
        choose({ sentence: input.value });
      },
    });
    function edit(tokens) {
      view.news = "";
      view.follow = Math.max(0, tokens.length - 1);
      input.value = tokens.join(" ");
      choose({ sentence: input.value });
    }
    const written = () => split(model.get("sentence"));
    const adders = ordinary.map((word) =>
      button(word, () => edit([...written(), word].slice(0, LONGEST))));
    const remove = button("Remove the last", () => edit(written().slice(0, -1)));

    const followed = html("div",
      { class: "explorer-chips", role: "radiogroup", "aria-labelledby": `${uid}-follow` });
    const [hot, entries, out] = ["hot", "table", "out"].map((name) =>
      html("table", { class: `lookup-matrix lookup-${name}` }));

    // The entry of the table that the range changes.
    const entryName = html("span");
    const entryValue = html("span", { class: "explorer-number", "aria-hidden": "true" });
    function enter() {
      const table = model.get("table").map((numbers) => [...numbers]);
      const value = Math.round(Number(range.value) * 10) / 10;
      table[view.row][view.column] = value;
      const { ids } = result();
      const touched = ids.flatMap((id, place) => (id === view.row ? [place] : []));
      const elsewhere = ids.length > touched.length ? " and nowhere else" : "";
      const moved = touched.length
        ? `The output changes at ${positions(touched)}${elsewhere}.`
        : "No output changes, because that word is not in the sentence.";
      view.news = `Row “${words[view.row]}”, column ${view.column} is now ${show(value)}. ${moved}`;
      choose({ table });
    }
    const range = html("input",
      { type: "range", id: `${uid}-entry`, min: -2, max: 2, step: 0.1, oninput: enter });
    const reset = button("Reset the table", () => {
      view.news = "The table is as it was at the start.";
      choose({ table: start.map((numbers) => [...numbers]) });
    });
    const way = svg(0, 0, { class: "lookup-way", "aria-hidden": "true" });
    way.removeAttribute("viewBox"); // it is as large as what is below it, pixel for pixel
    const line = draw(way, "path", {});
    const sign = (text) => html("span", { class: "lookup-sign", "aria-hidden": "true" }, text);
    const pair = html("div", { class: "lookup-pair" }, sign("×"), entries, sign("="), out);
    const field = html("div", { class: "lookup-matrices" }, way, hot, pair);
    const cost = html("p", { class: "lookup-cost" });

    function drawChips({ tokens, ids }) {
      const focused = followed.contains(document.activeElement);
      const labels = tokens.map((token, place) => {
        const read = words[ids[place]];
        const word = html("span", { class: "lookup-word", title: token }, token);
        const unknown = read === token ? [] : [html("span", {}, `→ ${read}`)];
        return [word, ...unknown, html("small", {}, ` ${ids[place]}`)];
      });
      const { inputs, all } = chips(labels, (place) => {
        Object.assign(view, { follow: place, row: ids[place], news: "" });
        redraw();
      });
      inputs.forEach((radio, place) => { radio.checked = place === view.follow; });
      followed.replaceChildren(...all);
      if (!all.length) followed.append(html("span", {}, "The sentence is empty."));
      if (focused) inputs[view.follow]?.focus();
    }

    function drawTable({ ids }) {
      const { table } = asked();
      const focused = entries.contains(document.activeElement);
      const entry = (number, place, column) => {
        const chosen = place === view.row && column === view.column;
        return html("td", {}, html("button", {
          type: "button",
          class: number !== start[place][column] && "lookup-changed",
          "aria-pressed": String(chosen),
          "aria-label": `row ${words[place]}, column ${column}: ${show(number)}`,
          tabindex: chosen ? 0 : -1,
          "data-entry": `${place},${column}`,
          onclick: () => reach([place, column]),
        }, show(number)));
      };
      const body = table.map((numbers, place) => row(place === ids[view.follow],
        wordHeading(words[place], html("small", {}, `${place} `), words[place]),
        ...numbers.map((number, column) => entry(number, place, column))));
      const heading = caption("Table", `${words.length} × ${table[0].length}`);
      fill(entries, heading, [html("td"), ...numbered(table[0])], body);
      if (focused) entries.querySelector("[aria-pressed=true]").focus();
    }

    function reach([place, column]) {
      const users = result().ids.flatMap((id, position) => (id === place ? [position] : []));
      const used = users.length ? `is looked up at ${positions(users)}` : "is not looked up now";
      const news = `Row “${words[place]}” ${used}. The slider changes its column ${column}.`;
      Object.assign(view, { row: place, column, news });
      redraw();
      entries.querySelector("[aria-pressed=true]").focus();
    }
    entries.addEventListener("keydown", (event) => {
      const last = [words.length - 1, start[0].length - 1];
      const goal = walked(event, [view.row, view.column], last);
      if (goal) reach(goal);
    });

    function drawCost({ ids, multiplications, multiplicationsByZero, copied }) {
      const sizes = `${ids.length} × ${words.length} × ${start[0].length}`;
      const same = answer() ? "" : " The result is the same.";
      cost.replaceChildren(
        html("span", {}, "Product: ", html("b", {}, String(multiplications)),
          ` multiplications (${sizes}), ${multiplicationsByZero} of them by 0.`),
        html("span", {}, "Lookup: ", html("b", {}, "0"),
          ` multiplications, ${copied} numbers copied.${same}`));
    }

    // What is true of the followed position.
    function following({ ids, tokens, product }) {
      if (!ids.length) return "An empty sentence has no rows.";
      const [id, token] = [ids[view.follow], tokens[view.follow]];
      const numbers = product[view.follow].map(show).join(", ");
      const position = `Position ${view.follow} is “${token}”`;
      if (answer())
        return `${position}, id ${id}. Row ${id} of the table is ` +
          `${asked().table[id].map(show).join(", ")}, and your function returned ${numbers}.`;
      const unknown = words[id] === token ? ""
        : `, an unknown word that is read as ${words[id]}`;
      return `${position}${unknown}: the only 1 is in column ${id}, so the product is row ` +
        `${id} of the table: ${numbers}.`;
    }

    function update(now) {
      const seen = result();
      view.follow = Math.min(view.follow, Math.max(0, seen.ids.length - 1));
      if (document.activeElement !== input) input.value = now.sentence;
      drawChips(seen);
      drawHot(hot, words, seen, view.follow);
      drawTable(seen);
      drawOut(out, start, seen, view.follow);
      drawWay(line, field, [hot, entries, out]);
      range.value = now.table[view.row][view.column];
      entryName.textContent = `Row “${words[view.row]}”, column ${view.column}`;
      entryValue.textContent = show(now.table[view.row][view.column]);
      drawCost(seen);
      const long = written().length > LONGEST ? " Only the first six words are shown." : "";
      say(((!answer() && view.news) || following(seen)) + long);
    }

    const named = (id, text) => html("span", { id }, text);
    const controls = html("div", { class: "lookup-controls" },
      html("label", { for: input.id }, "Sentence"), input,
      named(`${uid}-adders`, "Add a word"),
      html("div", { class: "lookup-adders", role: "group", "aria-labelledby": `${uid}-adders` },
        ...adders, remove),
      named(`${uid}-follow`, "Follow"), followed);
    const editing = html("div", { class: "lookup-edit" },
      html("label", { for: range.id }, entryName, " ", entryValue), range, reset);
    const resized = new ResizeObserver(() => drawWay(line, field, [hot, entries, out]));
    resized.observe(field);
    const stop = () => resized.disconnect();
    return { update, stop, children: [controls, field, editing, cost, verdict] };
  }

  mount("lookup", { moved: ["sentence", "table"], compute, outcome, build });
})();
