// The dependency probe (ch13): one input of a model changes; the reader says which outputs will move,
// and then sees which do, beside the mask that decides it. How far they moved comes from the page,
// which measured it with PyTorch; the masks, and what they let through, are computed here.
(() => {
  const { html, svg, draw, button, chips, bar, headings, counted, listed, shown, italian, said,
    mount } = globalThis.explorerKit;
  const start = { model: 0, input: 2 };
  const KINDS = {
    BERT: "encoder: every word may attend to every other",
    GPT: "decoder: a word may attend to itself and to what comes before it",
    T5: "encoder and decoder: the decoder may attend to all of the encoder, and back in its own text",
    ViT: "encoder of patches: every row may attend to every other",
  };

  // Who may attend to whom: a row for each output, a column for each position of the layers. The
  // first `sources` positions are those of an encoder that a decoder looks at.
  function maskOf({ name, outputs, sources }) {
    const inEncoder = (place) => place < sources;
    const allowed = {
      BERT: () => true,
      GPT: (query, key) => key <= query,
      T5: (query, key) => inEncoder(key) || (!inEncoder(query) && key <= query),
      ViT: () => true,
    }[name];
    return outputs.map((_, query) => outputs.map((_, key) => allowed(query, key)));
  }

  // The outputs that a position can reach through any number of layers with this mask.
  function reached(mask, place) {
    const found = new Set([place]);
    for (const key of found)
      mask.forEach((row, query) => { if (row[key]) found.add(query); });
    return mask.map((_, query) => found.has(query));
  }

  // Where an input enters: ViT's first position is no input.
  const entryOf = ({ inputs, outputs }, input) => input + outputs.length - inputs.length;

  const compute = (model, input) => {
    const mask = maskOf(model);
    return { mask, reached: reached(mask, entryOf(model, input)) };
  };

  // A word of a model, in its language.
  const worded = ({ name, sources }, word, place) =>
    (name === "T5" && place >= sources ? italian(word) : word);
  const sideOf = ({ sources }, place) => {
    if (!sources) return "";
    return place < sources ? "encoder" : "decoder";
  };

  // Patch number `place` of the image, as a picture.
  function patchPicture(image, place, across, size) {
    const picture = svg(size, size, { class: "family-patch", "aria-hidden": "true" });
    for (let row = 0; row < size; row += 1)
      for (let column = 0; column < size; column += 1) {
        const light = image[size * Math.floor(place / across) + row][size * (place % across) + column];
        draw(picture, "rect", { x: column, y: row, width: 1.02, height: 1.02,
          "fill-opacity": light.toFixed(2) });
      }
    return picture;
  }

  function build({ model, choose, verdict, say }) {
    const family = model.get("models");
    if (model.get("marked") === undefined) model.set("marked", []);
    const fresh = { marked: [], seen: false, asked: false };

    const names = chips(family.map(({ name }) => name), (at) => {
      const input = Math.min(model.get("input"), family[at].inputs.length - 1);
      choose({ ...fresh, input, model: at });
    });
    const kind = html("p", { class: "explorer-note" });
    const inputs = html("fieldset", { class: "family-inputs" });
    const rows = html("tbody");
    const outputs = html("table", { class: "explorer-table family-outputs" },
      html("caption", {}, "Which outputs will move?"),
      headings(["I expect this one to move", "", "moved by"]), rows);
    const mask = html("table", { class: "family-mask explorer-result" });
    const sees = () => { // who has marked nothing is asked once
      if (model.get("seen")) return fresh;
      return model.get("marked").length || model.get("asked") ? { seen: true } : { asked: true };
    };
    const see = button("", () => choose(sees()), "family-see");
    const buttons = html("div", { class: "explorer-buttons" }, see);
    let drawn = -1; // the model that is on the screen
    let picks = null;
    let lines = []; // {row, box, track, fill, number}

    function drawInputs(now) {
      const across = Math.sqrt(now.inputs.length);
      const pictured = (word, place) => (now.image
        ? [patchPicture(now.image, place, across, now.image.length / across),
          html("span", { class: "explorer-hidden" }, word)]
        : [worded(now, word, place)]);
      picks = chips(now.inputs.map(pictured), (input) => choose({ ...fresh, input }));
      const group = (name, some) => html("div", { class: "family-group" },
        ...(name ? [html("span", { class: `family-${name}` }, name)] : []),
        html("div", { class: now.image ? "family-image" : "explorer-chips" }, ...some));
      const { all } = picks;
      const groups = now.sources
        ? [group("encoder", all.slice(0, now.sources)), group("decoder", all.slice(now.sources))]
        : [group("", all)];
      inputs.replaceChildren(html("legend", {}, now.image ? "Change this patch"
        : "Change this word"), ...groups);
    }

    function drawOutputs(now) {
      lines = now.outputs.map((word, place) => {
        const { track, fill } = bar();
        const number = html("td");
        const box = html("input", { type: "checkbox", onchange: () => mark(place, box.checked) });
        const side = sideOf(now, place);
        const name = html("span", {}, worded(now, word, place),
          ...(side ? [" ", html("small", { class: `family-${side}` }, side)] : []));
        const label = html("label", { class: "explorer-switch" }, box, name);
        const row = html("tr", {}, html("th", { scope: "row" }, label), track, number);
        return { row, box, track, fill, number };
      });
      rows.replaceChildren(...lines.map(({ row }) => row));
    }

    function mark(place, on) {
      const others = model.get("marked").filter((other) => other !== place);
      choose({ marked: on ? [...others, place] : others });
    }

    function drawMask(now, { mask: allowed }, input) {
      const words = now.outputs.map((word, place) => worded(now, word, place));
      const entry = entryOf(now, input);
      const state = (query, key) => [allowed[query][key] ? "family-may" : "family-barred",
        key === entry ? "family-changed" : "",
        now.sources && query === now.sources ? "family-below" : "",
        now.sources && key === now.sources ? "family-beside" : ""].join(" ");
      const copy = (word) => (word instanceof Node ? word.cloneNode(true) : word);
      mask.replaceChildren(
        html("caption", {}, "The mask ", html("span", {}, "rows look at columns; 1: may attend")),
        html("thead", {}, html("tr", {}, html("td"), ...words.map((word, key) =>
          html("th", { scope: "col", class: key === entry ? "family-changed" : "" },
            html("span", {}, copy(word)))))),
        html("tbody", {}, ...words.map((word, query) => html("tr", {},
          html("th", { scope: "row" }, copy(word)), ...words.map((_, key) =>
            html("td", { class: state(query, key) }, allowed[query][key] ? "1" : "0"))))));
    }

    const quoted = (now, place) => {
      const text = now.outputs[place];
      return now.image ? text : worded(now, `“${text}”`, place);
    };
    const several = (now, places) => (places.length === now.outputs.length ? "every output"
      : said`${places.length === 1 ? "the output" : "the outputs"} of ${
        listed(places.map((place) => quoted(now, place)))}`);

    // Why just these: what the mask lets through.
    function reason(now, input) {
      const side = sideOf(now, input);
      if (now.name === "GPT") return "No output before it can know of it: the mask bars the way back.";
      if (side === "encoder")
        return "The encoder reads in both directions, and each word of the decoder looks at all of it.";
      if (side === "decoder")
        return "The decoder’s mask bars what comes earlier, and the encoder never looks at the decoder.";
      return "With nothing barred, one layer is enough for a change to get everywhere.";
    }

    function judged(now, marked, moving) {
      const missed = moving.filter((place) => !marked.includes(place));
      const extra = marked.filter((place) => !moving.includes(place)).sort((a, b) => a - b);
      if (!marked.length) return ["You had marked none, so there is nothing to compare."];
      if (!missed.length && !extra.length) return ["That is what you expected."];
      const many = missed.length > 4;
      return [
        many ? `You missed ${missed.length} of them. ` : "",
        missed.length && !many ? said`You missed ${several(now, missed)}. ` : "",
        extra.length ? said`You expected ${several(now, extra)} to move, and nothing reached
          ${extra.length === 1 ? "it" : "them"}.` : "",
      ];
    }

    function update({ model: at, input, marked, seen, asked: reminded }) {
      const now = family[at];
      const result = compute(now, input);
      if (drawn !== at) {
        drawn = at;
        drawInputs(now);
        drawOutputs(now);
      }
      names.inputs.forEach((radio, i) => { radio.checked = i === at; });
      picks.inputs.forEach((radio, i) => { radio.checked = i === input; });
      kind.textContent = `${now.name}, ${KINDS[now.name]}.`;
      drawMask(now, result, input);
      const far = now.moved[input];
      const most = Math.max(...far);
      lines.forEach(({ row, box, track, fill, number }, place) => {
        const moves = far[place] > 0;
        box.checked = marked.includes(place);
        box.disabled = Boolean(seen);
        fill(seen ? far[place] / most : 0);
        const right = moves === box.checked;
        const judgement = marked.length ? [html("span", { class: right ? "family-right"
          : "family-wrong" }, right ? "✓ " : "✗ "), html("span", { class: "explorer-hidden" },
        right ? "as expected: " : "unexpected: ")] : []; // no mark is no prediction
        number.replaceChildren(...(seen ? [...judgement, moves ? shown(far[place], 2) : "0"] : []));
        track.classList.toggle("family-empty", !seen || !moves);
        row.classList.toggle("family-moves", Boolean(seen) && moves);
        row.classList.toggle("family-still", Boolean(seen) && !moves);
      });
      mask.classList.toggle("family-unseen", !seen); // it would give the answer away
      see.textContent = seen ? "Predict again" : "See what moves";
      const changed = now.image ? now.inputs[input] : worded(now, `“${now.inputs[input]}”`, input);
      if (!seen && reminded && !marked.length) {
        say(["At least one output will move. Mark which you expect, or choose “See what moves” again."]);
        return;
      }
      if (!seen) {
        say([...said`${now.name}: ${changed} is replaced by another
          ${now.image ? "patch" : "word"}. Which outputs will move? Mark them, then choose
          “See what moves”.`, ` Marked so far: ${marked.length} of ${now.outputs.length}.`]);
        return;
      }
      const moving = far.flatMap((size, place) => (size > 0 ? [place] : []));
      say([...said`${now.name}: changing ${changed} moved
        ${several(now, moving)}${moving.length === now.outputs.length ? ""
    : `, ${counted(moving.length, "output")} of ${now.outputs.length}`}. `,
      ...judged(now, marked, moving), " ", reason(now, input)]);
    }

    const asked = html("div", { class: "family-asked" }, outputs, buttons, verdict);
    const parts = html("div", { class: "explorer-parts" }, asked, mask);
    const choice = html("div", { class: "explorer-chips", role: "group", "aria-label": "Model" },
      ...names.all);
    return { update, children: [choice, kind, inputs, parts] };
  }

  mount("family", { start, moved: ["marked", "seen", "asked"], maskOf, reached, compute, build });
})();
