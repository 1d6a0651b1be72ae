// One-hot times table = a row lookup. The reader writes a short sentence, follows one of its positions through the product,
// and changes an entry of the table to see which outputs move.

globalThis.explorers ??= {};
globalThis.explorers.lookup = (() => {
  const LONGEST = 6; // (said in words below) positions that are shown; `compute` itself has no limit

  // The whole arithmetic. It must equal solutions/ch01_embeddings.py: encode, one_hot, embed.
  function compute({ sentence, vocabulary, table }) {
    const known = new Map(Object.entries(vocabulary));
    const tokens = sentence.split(/\s+/).filter(Boolean);
    const ids = tokens.map((token) => known.get(token) ?? known.get("<unk>"));
    const vocabSize = table.length;
    const width = table[0].length;
    const oneHot = ids.map((id) => table.map((_, row) => (row === id ? 1 : 0)));
    const product = oneHot.map((flags) =>
      table[0].map((_, column) => flags.reduce((sum, flag, row) => sum + flag * table[row][column], 0)),
    );
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

  const firstWords = (sentence) => sentence.split(/\s+/).filter(Boolean).slice(0, LONGEST).join(" ");

  // What there is to see; what is `given` comes from elsewhere.
  function outcome(model, { sentence, table }, given) {
    return { ...compute({ sentence: firstWords(sentence), vocabulary: model.get("vocabulary"), table }), ...given };
  }

  // With one decimal, as the table's numbers have; a number of a learner's may have more.
  function show(number) {
    return (Math.abs(number * 10 - Math.round(number * 10)) < 1e-6 ? number.toFixed(1) : number.toPrecision(3)).replace("-", "\u2212");
  }
  const list = (items) => (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`);
  const positions = (places) => `position${places.length > 1 ? "s" : ""} ${list(places)}`;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  let made = 0;

  function render({ model, el }) {
    const uid = `lookup-${(made += 1)}`;
    const start = model.get("table").map((row) => [...row]);
    const vocabulary = model.get("vocabulary");
    const words = Object.keys(vocabulary).sort((a, b) => vocabulary[a] - vocabulary[b]);
    const ordinary = words.filter((word) => !word.startsWith("<"));
    const view = { follow: 0, row: vocabulary[ordinary[0]], column: 0, news: "" };

    const change = (key, value) => {
      model.set(key, value);
      model.save_changes();
    };
    const answer = () => model.get("computed"); // in a notebook: what the learner's functions made of `inputs`; nothing in a page
    const asked = () => answer()?.inputs ?? { sentence: model.get("sentence"), table: model.get("table") };
    const result = () => outcome(model, asked(), answer()?.numbers);

    // The sentence: typed, or put together from buttons.
    const input = make("input", {
      type: "text",
      id: `${uid}-sentence`,
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
      maxlength: 80,
      oninput: () => {
        view.news = "";
        change("sentence", input.value);
      },
    });
    const edit = (next) => {
      view.news = "";
      input.value = next.join(" ");
      view.follow = Math.max(0, next.length - 1);
      change("sentence", input.value);
    };
    const split = () => model.get("sentence").split(/\s+/).filter(Boolean);
    const adders = ordinary.map((word) =>
      make("button", { type: "button", class: "lookup-button", onclick: () => edit([...split(), word].slice(0, LONGEST)) }, word),
    );
    const remove = make(
      "button",
      { type: "button", class: "lookup-button lookup-quiet", onclick: () => edit(split().slice(0, -1)) },
      "Remove the last",
    );

    const chips = make("div", { class: "lookup-chips", role: "radiogroup", "aria-labelledby": `${uid}-chips` });
    const hot = make("table", { class: "lookup-matrix lookup-hot" });
    const entries = make("table", { class: "lookup-matrix lookup-table" });
    const out = make("table", { class: "lookup-matrix lookup-out" });

    // The entry of the table that the range changes.
    const entryName = make("span");
    const entryValue = make("output", { for: `${uid}-entry`, class: "lookup-value" });
    const range = make("input", {
      type: "range",
      id: `${uid}-entry`,
      min: -2,
      max: 2,
      step: 0.1,
      oninput: () => {
        const table = model.get("table").map((row) => [...row]);
        table[view.row][view.column] = Math.round(Number(range.value) * 10) / 10;
        const touched = result().ids.flatMap((id, place) => (id === view.row ? [place] : []));
        const rest = result().ids.length - touched.length;
        view.news =
          `Row \u201c${words[view.row]}\u201d, column ${view.column} is now ${show(table[view.row][view.column])}. ` +
          (touched.length
            ? `The output moves at ${positions(touched)}${rest ? " and nowhere else" : ""}.`
            : "No output moves: that word is not in the sentence.");
        change("table", table);
      },
    });
    const reset = make(
      "button",
      {
        type: "button",
        class: "lookup-button",
        onclick: () => {
          view.news = "The table is as it was at the start.";
          change("table", start.map((row) => [...row]));
        },
      },
      "Reset the table",
    );
    const svg = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
    const way = svg("svg");
    way.setAttribute("class", "lookup-way");
    way.setAttribute("aria-hidden", "true");
    way.append(svg("path"));
    const field = make("div", { class: "lookup-matrices" },
      way,
      hot,
      make("div", { class: "lookup-pair" },
        make("span", { class: "lookup-sign", "aria-hidden": "true" }, "\u00d7"), entries,
        make("span", { class: "lookup-sign", "aria-hidden": "true" }, "="), out));
    const cost = make("p", { class: "lookup-cost" });
    const live = make("p", { class: "lookup-live", "aria-live": "polite" });

    const heading = (text, shape) => make("caption", {}, text, make("span", { class: "lookup-shape" }, shape));
    const rowClass = (on) => (on ? "lookup-on" : "");

    function drawChips({ tokens, ids }) {
      const focused = chips.contains(document.activeElement);
      chips.replaceChildren();
      tokens.forEach((token, place) => {
        const radio = make("input", { type: "radio", name: `${uid}-follow`, value: place });
        radio.checked = place === view.follow;
        radio.addEventListener("change", () => {
          view.follow = place;
          view.row = ids[place];
          view.news = "";
          update();
        });
        const unknown = words[ids[place]] === token ? [] : [make("span", {}, `\u2192 ${words[ids[place]]}`)];
        const name = make("span", { class: "lookup-word", title: token }, token);
        chips.append(make("label", {}, radio, make("span", {}, name, ...unknown, make("small", {}, ` ${ids[place]}`))));
      });
      if (!tokens.length) chips.append(make("span", { class: "lookup-empty" }, "The sentence is empty."));
      if (focused) chips.querySelector("input:checked")?.focus();
    }

    function drawHot({ tokens, ids, oneHot }) {
      const followed = ids[view.follow];
      const header = make("tr", {}, make("td"), ...words.map((word, id) =>
        make("th", { scope: "col", title: word, class: rowClass(id === followed) }, String(id))));
      const body = oneHot.map((flags, place) =>
        make("tr", { class: rowClass(place === view.follow) }, make("th", { scope: "row", class: "lookup-word", title: tokens[place] }, tokens[place]),
          ...flags.map((flag) => make("td", { class: flag ? "lookup-one" : "lookup-zero" }, Number.isInteger(flag) ? String(flag) : show(flag)))));
      hot.replaceChildren(heading("One-hot", `${ids.length} \u00d7 ${words.length}`), make("thead", {}, header), make("tbody", {}, ...body));
    }

    function drawTable({ ids }) {
      const { table } = asked();
      const focused = entries.contains(document.activeElement);
      const columns = table[0].map((_, column) => make("th", { scope: "col" }, String(column)));
      const body = table.map((numbers, row) =>
        make("tr", { class: rowClass(row === ids[view.follow]) },
          make("th", { scope: "row", class: "lookup-word", title: words[row] }, make("small", {}, `${row} `), words[row]),
          ...numbers.map((number, column) => {
            const chosen = row === view.row && column === view.column;
            return make("td", {}, make("button", {
              type: "button",
              class: number === start[row][column] ? "" : "lookup-changed",
              "aria-pressed": String(chosen),
              "aria-label": `row ${words[row]}, column ${column}: ${show(number)}`,
              tabindex: chosen ? 0 : -1,
              "data-entry": `${row},${column}`,
              onclick: () => choose(row, column),
            }, show(number)));
          })));
      entries.replaceChildren(heading("Table", `${words.length} \u00d7 ${table[0].length}`),
        make("thead", {}, make("tr", {}, make("td"), ...columns)), make("tbody", {}, ...body));
      if (focused) entries.querySelector("[aria-pressed=true]").focus();
    }

    function drawOut({ tokens, ids, product }) {
      const columns = product[0] ? product[0].map((_, column) => make("th", { scope: "col" }, String(column))) : [];
      const body = product.map((numbers, place) =>
        make("tr", { class: rowClass(place === view.follow) },
          make("th", { scope: "row", class: "lookup-hidden" }, tokens[place]),
          ...numbers.map((number, column) =>
            make("td", { class: number === start[ids[place]][column] ? "" : "lookup-changed" }, show(number)))));
      out.replaceChildren(heading("Product", `${ids.length} \u00d7 ${start[0].length}`),
        make("thead", {}, make("tr", {}, make("td", { class: "lookup-hidden" }), ...columns)), make("tbody", {}, ...body));
    }

    // The way of the followed row: from one-hot to table, where they stand side by side, and from table to product.
    function drawWay() {
      const origin = field.getBoundingClientRect();
      const bands = [hot, entries, out].map((matrix) => matrix.querySelector("tbody .lookup-on"));
      const curves = [];
      if (bands.every(Boolean)) {
        const box = (band) => band.getBoundingClientRect();
        for (const [from, to] of [[box(bands[0]), box(bands[1])], [box(bands[1]), box(bands[2])]]) {
          if (from.right > to.left) continue;
          const [x1, x2] = [from.right - origin.left, to.left - origin.left];
          const [y1, y2] = [from, to].map((one) => (one.top + one.bottom) / 2 - origin.top);
          curves.push(`M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`);
        }
      }
      way.firstChild.setAttribute("d", curves.join(""));
    }

    function choose(row, column) {
      view.row = Math.min(Math.max(row, 0), words.length - 1);
      view.column = Math.min(Math.max(column, 0), start[0].length - 1);
      view.news = "";
      update();
      entries.querySelector("[aria-pressed=true]").focus();
    }

    entries.addEventListener("keydown", (event) => {
      const { row, column } = view;
      const goal = {
        ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column],
        ArrowLeft: [row, column - 1],
        ArrowRight: [row, column + 1],
        Home: [event.ctrlKey ? 0 : row, 0],
        End: [event.ctrlKey ? Infinity : row, Infinity],
      }[event.key];
      if (!goal) return;
      event.preventDefault();
      choose(...goal);
    });

    function update() {
      const now = result();
      view.follow = Math.min(view.follow, Math.max(0, now.ids.length - 1));
      if (document.activeElement !== input) input.value = model.get("sentence");
      drawChips(now);
      drawHot(now);
      drawTable(now);
      drawOut(now);
      drawWay();
      const value = model.get("table")[view.row][view.column];
      entryName.textContent = `Row \u201c${words[view.row]}\u201d, column ${view.column}`;
      entryValue.textContent = show(value);
      range.value = value;
      cost.replaceChildren(
        make("span", {}, "Product: ", make("b", {}, String(now.multiplications)), ` multiplications (${now.ids.length} \u00d7 ${words.length} \u00d7 ${start[0].length}), ${now.multiplicationsByZero} of them by 0.`),
        make("span", {}, "Lookup: ", make("b", {}, "0"), ` multiplications, ${now.copied} numbers copied.${answer() ? "" : " The result is the same."}`),
      );
      const id = now.ids[view.follow];
      const long = split().length > LONGEST ? ` Only the first six words are shown.` : "";
      const token = now.tokens[view.follow];
      const unknown = words[id] === token ? "" : `, an unknown word that is read as ${words[id]}`;
      const numbers = now.product[view.follow]?.map(show).join(", ");
      const follow = !now.ids.length
        ? "An empty sentence has no rows."
        : answer()
        ? `Position ${view.follow} is \u201c${token}\u201d, id ${id}. Row ${id} of the table is ${asked().table[id].map(show).join(", ")}; returned was ${numbers}.`
        : `Position ${view.follow} is \u201c${token}\u201d${unknown}: the only 1 stands in column ${id}, so the product is row ${id} of the table: ${numbers}.`;
      const text = ((!answer() && view.news) || follow) + long;
      if (live.textContent !== text) live.textContent = text;
    }

    const events = ["change:sentence", "change:table", "change:computed"];
    for (const event of events) model.on(event, update);
    el.append(
      make("div", { class: "lookup explorer-root" },
        make("div", { class: "lookup-controls" },
          make("label", { for: input.id }, "Sentence"),
          input,
          make("span", { id: `${uid}-adders` }, "Add a word"),
          make("div", { class: "lookup-adders", role: "group", "aria-labelledby": `${uid}-adders` }, ...adders, remove),
          make("span", { id: `${uid}-chips` }, "Follow"),
          chips),
        field,
        make("div", { class: "lookup-edit" },
          make("label", { for: range.id }, entryName, " ", entryValue), range, reset),
        cost,
        live),
    );
    update();
    const resized = new ResizeObserver(drawWay);
    resized.observe(field);
    return () => {
      resized.disconnect();
      for (const event of events) model.off(event, update);
    };
  }

  return { render, compute, outcome };
})();
