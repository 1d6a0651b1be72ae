// Beam search, step by step: the tree of the beginnings that live, the extensions that a step ranks, and the sentences that have ended.
// What may follow a beginning comes from a model that the page trained; the search is made here.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const EOS = 2;
  const START = { sentence: 0, beam_size: 2, length_penalty: 0.6, step: 0 };
  const MOST = 5; // beginnings of one length in the tree, and ended sentences in their table
  const SMALL = 0.92; // a number's font size in the tree, as part of a word's; the style sheet knows it, too
  const WIDE = 560; // pixels from which the tree grows to the right; below it grows downwards

  // A hypothesis is { ids, log_prob }, its ids without <bos>. Its length counts <eos>.
  const divisor = (ids, length_penalty) => ((5 + ids.length) / 6) ** length_penalty;
  const highest = (hypotheses) => hypotheses.reduce((best, each) => (each.score > best.score ? each : best));

  // The search of solutions/ch09_training.py. `rows` holds for each beginning that any beam asks about its likeliest words: as many as
  // the widest beam looks at.
  function compute({ rows, beam_size, max_len, length_penalty }) {
    const known = new Map(rows.map(([ids, ...row]) => [ids.join(), row]));
    const scored = (each) => ({ ...each, score: each.log_prob / divisor(each.ids, length_penalty) });
    const levels = [[{ ids: [], log_prob: 0 }]]; // what lives: at the start, after the first step, ...
    const steps = [];
    const finished = [];
    while (levels.at(-1).length && levels.at(-1)[0].ids.length + 1 < max_len) {
      const extensions = levels.at(-1).flatMap(({ ids, log_prob }) => {
        const [words, logs] = known.get(ids.join());
        return words.map((word, i) => ({ ids: [...ids, word], log_prob: log_prob + logs[i] }));
      }).sort((a, b) => b.log_prob - a.log_prob);
      const live = [];
      steps.push(extensions.slice(0, beam_size > 1 ? 2 * beam_size : 1).map((each) => {
        const fate = each.ids.at(-1) === EOS ? "ended" : live.length < beam_size ? "lives" : "dropped";
        if (fate === "ended") finished.push({ ...scored(each), step: steps.length });
        if (fate === "lives") live.push(each);
        return { ...each, fate };
      }));
      levels.push(live);
    }
    return { levels, steps, finished, best: highest(finished.length ? finished : levels.at(-1).map(scored)) };
  }

  // The search of the page, or what is `given`: which beginnings a learner's function asked about, and what it returned.
  function outcome(model, { sentence, beam_size, length_penalty }, given) {
    const { rows } = model.get("sentences")[sentence];
    const own = compute({ rows, beam_size, max_len: model.get("max_len"), length_penalty });
    const asked = own.levels.slice(0, own.steps.length);
    return { ...own, alive: asked.map((level) => level.map(({ log_prob }) => log_prob)), score: own.best.score, ...given };
  }

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function draw(parent, tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  const shown = (number) => number.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "−");
  const begins = (ids, others) => others.length <= ids.length && others.every((id, i) => id === ids[i]);
  const counted = (number, one, many) => `${number} ${number === 1 ? one : many}`;

  function slider(text, settings) {
    const number = html("span", { class: "beam-number", "aria-hidden": "true" }); // the slider says it itself
    const input = html("input", { type: "range", ...settings });
    return { number, input, field: html("label", { class: "beam-field" }, html("span", {}, text, " ", number), input) };
  }

  // The beginnings of each length in an order without crossings, and the place of each one's parent.
  function arranged(levels) {
    let before = [];
    return levels.map((level) => {
      const placed = level.slice(0, MOST).map((each) => ({
        ...each,
        parent: before.findIndex(({ ids }) => ids.length + 1 === each.ids.length && begins(each.ids, ids)),
      }));
      placed.sort((a, b) => a.parent - b.parent || b.log_prob - a.log_prob);
      before = placed;
      return placed;
    });
  }

  function render({ model, el }) {
    for (const [key, value] of Object.entries(START)) if (model.get(key) === undefined) model.set(key, value);
    const sentences = model.get("sentences");
    const vocabulary = model.get("vocabulary");
    const longest = model.get("max_len");
    const words = (ids) => ids.map((id) => vocabulary[id]).join(" ");
    const quoted = (ids) => {
      const said = words(ids.filter((id) => id !== EOS));
      return said ? `“${said}”` : "the empty sentence";
    };
    const capital = (text) => text[0].toUpperCase() + text.slice(1);
    const now = () => {
      const answer = model.get("computed"); // in a notebook: what the learner's function made of `inputs`; nothing in a page
      const moved = Object.fromEntries(Object.keys(START).map((key) => [key, model.get(key)]));
      const inputs = answer?.inputs ?? moved;
      const found = outcome(model, inputs, answer?.numbers);
      const yours = answer?.numbers !== undefined;
      const count = Math.max(1, yours ? found.levels.length : found.steps.length);
      const step = Math.min(moved.step, count - 1) + 1;
      return { ...found, inputs, yours, count, step, last: step === count };
    };
    const choose = (changes) => {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    };

    const picker = html("select", {}, ...sentences.map(({ source }, i) => html("option", { value: i }, source.join(" "))));
    const size = slider("Beam size", { min: 1, max: 5, step: 1 });
    const penalty = slider("Length penalty", { min: 0, max: 1, step: 0.1 });
    const pace = slider("Step", { min: 1, step: 1 });
    const back = html("button", { type: "button", class: "beam-button" }, "Back");
    const next = html("button", { type: "button", class: "beam-button" }, "Next step");
    const controls = html("div", { class: "beam-controls" },
      html("label", { class: "beam-field" }, html("span", {}, "Sentence"), picker),
      size.field, penalty.field, pace.field, html("div", { class: "beam-buttons" }, back, next));

    const verdict = html("p", { class: "beam-verdict", "aria-hidden": "true" });
    const spoken = html("p", { class: "beam-spoken", "aria-live": "polite" });
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("role", "img");
    const key = html("p", { class: "beam-key", "aria-hidden": "true" });
    const tree = html("figure", { class: "beam-tree" },
      html("figcaption", {}, "The beginnings that live, each with its log-probability"), svg, key);
    const ranked = html("table", { class: "beam-ranked" });
    const ended = html("table", { class: "beam-ended-list" });
    el.append(html("div", { class: "explorer-root beam" }, controls, verdict, tree,
      html("div", { class: "beam-parts" }, ranked, ended), spoken));

    function table(element, caption, columns, rows) {
      element.replaceChildren(
        html("caption", {}, caption),
        html("thead", {}, html("tr", {}, ...columns.map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, ...rows));
    }
    function row(kind, ids, cells) {
      const parts = ids.length ? [`${words(ids.slice(0, -1))} `.trimStart(), html("strong", {}, vocabulary[ids.at(-1)])] : ["(no word)"];
      return html("tr", { class: `beam-${kind}` }, html("th", { scope: "row" }, html("span", {}, ...parts)), ...cells.map((cell) => html("td", {}, cell)));
    }

    // The extensions that this step went through; of a learner's search, what it went on with.
    function drawRanked({ steps, levels, step, yours, last, result, log_prob }) {
      if (yours) {
        const list = last ? [{ ids: result, log_prob, fate: "returned" }] : levels[step].map((each) => ({ ...each, fate: "lives" }));
        const caption = last ? "What your function returns" : `What your search goes on with after step ${step}`;
        table(ranked, caption, ["beginning", "log-prob.", "fate"], list.map((each) => row(each.fate, each.ids, [shown(each.log_prob), each.fate])));
        return;
      }
      const list = steps[step - 1];
      const caption = `Step ${step}: ${list.length > 1 ? `the best ${list.length} extensions, in order` : "the best extension"}`;
      table(ranked, caption, ["beginning", "log-prob.", "fate"],
        list.map((each) => row(each.fate, each.ids, [shown(each.log_prob), each.fate])));
    }

    function drawEnded({ finished, inputs, step, yours, last, best }) {
      ended.hidden = yours;
      if (yours) return;
      const list = finished.filter((each) => each.step < step).sort((a, b) => b.score - a.score);
      const rows = list.slice(0, MOST).map((each) =>
        row(last && each === best ? "won" : "ended", each.ids, [shown(each.log_prob), divisor(each.ids, inputs.length_penalty).toFixed(2), shown(each.score)]));
      const more = list.length - MOST;
      if (!list.length || more > 0)
        rows.push(html("tr", {}, html("td", { colspan: 4, class: "beam-more" }, list.length ? `and ${more} more, with lower scores` : "none yet")));
      table(ended, last ? "Ended, the highest score first" : "Ended so far, the highest score first", ["sentence", "log-prob.", "divided by", "score"], rows);
    }

    function drawTree({ levels, finished, best, step, yours, last, result }) {
      const width = tree.clientWidth || 640;
      const wide = width >= WIDE;
      const visible = arranged(levels.slice(0, step + 1));
      const winner = last ? (yours ? result : best.ids) : null;
      const ends = yours ? [] : finished.filter((each) => each.step < step);
      const slots = Math.max(1, ...levels.map((level) => Math.min(MOST, level.length)));
      const lengths = Math.max(longest, levels.length);
      const [along, across] = wide ? [width / lengths, 62] : [66, Math.min(110, width / slots)];
      const size = wide ? 14 : Math.min(12, across / 5.3);
      const wideAs = measure(size);
      const widest = wide ? along - 10 : across - 4;
      svg.style.fontSize = `${size}px`;
      const height = wide ? slots * across : lengths * along;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.style.height = `${height}px`;
      svg.replaceChildren();

      const boxes = visible.map((level, length) => level.map((each, slot) => {
        const text = vocabulary[each.ids.at(-1)] ?? "<bos>";
        const main = along * (length + 0.5) - (wide ? 0 : 8);
        const side = (wide ? height : width) / 2 + across * (slot - (level.length - 1) / 2);
        const end = ends.find(({ ids }) => ids.length === length + 1 && begins(ids, each.ids));
        const goes = (yours && last) || [...levels[step], ...ends].some(({ ids }) => begins(ids, each.ids));
        const won = winner && begins(winner, each.ids);
        const [x, y] = wide ? [main, side - 7] : [side, main];
        const room = Math.max(40, (wide ? 14 : 8) + Math.max(wideAs(text), SMALL * wideAs(shown(each.log_prob))));
        return { ...each, text, x, y, end, kind: won ? "won" : goes ? "lives" : "dead", wide: Math.min(widest, room) };
      }));
      const lines = draw(svg, "g", {});
      boxes.forEach((level, length) => level.forEach((box) => {
        if (box.parent >= 0) edge(lines, boxes[length - 1][box.parent], box, wide);
        node(box, last && box.end === best);
      }));
      levels.slice(0, step + 1).forEach((level, length) => {
        const more = level.length - MOST;
        const place = wide ? { x: along * (length + 0.5), y: height - 2 } : { x: width - 2, y: along * length + 4 };
        if (more > 0) draw(svg, "text", { ...place, "text-anchor": wide ? "middle" : "end", class: "beam-small" }, `and ${more} more`);
      });
      const alive = visible.at(-1).map(({ ids, log_prob }) => `${quoted(ids)}, ${shown(log_prob)}`).join("; ");
      svg.setAttribute("aria-label", `Tree of the beginnings after step ${step}. Alive: ${alive || "none"}.`);
    }

    // How wide a word is in bold, which a box can become.
    function measure(size) {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = `600 ${size}px ${getComputedStyle(svg).fontFamily}`;
      return (text) => pen.measureText(text).width;
    }

    function edge(parent, from, to, wide) {
      const below = from.end ? 35 : 18;
      const [x0, y0, x1, y1] = wide
        ? [from.x + from.wide / 2, from.y, to.x - to.wide / 2, to.y]
        : [from.x, from.y + below, to.x, to.y - 18];
      const [bend0, bend1] = wide ? [`${(x0 + x1) / 2} ${y0}`, `${(x0 + x1) / 2} ${y1}`] : [`${x0} ${(y0 + y1) / 2}`, `${x1} ${(y0 + y1) / 2}`];
      draw(parent, "path", { d: `M${x0} ${y0} C${bend0} ${bend1} ${x1} ${y1}`, class: `beam-edge beam-${to.kind}` });
    }

    // A box with its word and log-probability; where a sentence ended behind it, a square with the score below.
    function node({ text, log_prob, x, y, end, kind, wide }, wins) {
      const group = draw(svg, "g", { class: `beam-node beam-${kind}` });
      if (end) {
        draw(group, "rect", { x: x - 30, y: y + 16, width: 60, height: 18, rx: 5, class: `beam-end${wins ? " beam-best" : ""}` });
        draw(group, "rect", { x: x - 26, y: y + 21, width: 8, height: 8, class: "beam-stop" });
        draw(group, "text", { x: x + 5, y: y + 29, "text-anchor": "middle", class: "beam-small" }, shown(end.score));
      }
      draw(group, "rect", { x: x - wide / 2, y: y - 18, width: wide, height: 36, rx: 6, class: "beam-box" });
      draw(group, "text", { x, y: y - 3, "text-anchor": "middle" }, text);
      draw(group, "text", { x, y: y + 12, "text-anchor": "middle", class: "beam-small" }, shown(log_prob));
    }

    function drawKey({ yours, last }) {
      const signs = yours ? [["lives", "lives"]] : [["lives", "leads on, or to an end"], ["dead", "led to nothing"]];
      if (!yours) signs.push(["ended", "ended here, with its score"]);
      if (last) signs.push(["won", yours ? "returned" : "wins"]);
      key.replaceChildren(...signs.map(([kind, text]) => html("span", {}, html("span", { class: `beam-sign beam-${kind}` }), text)));
    }

    // What this step did, in words.
    function told(state) {
      const { step, yours, last, levels, steps, count } = state;
      if (yours) {
        if (last) return `After ${counted(count, "step", "steps")} your function returns ${quoted(state.result)}, with a score of ${shown(state.score)}.`;
        return `After step ${step} your search goes on with ${counted(levels[step].length, "beginning", "beginnings")}.`;
      }
      const list = steps[step - 1];
      if (list.length === 1) {
        const went = list[0].fate === "ended" ? "is the end" : `is “${vocabulary[list[0].ids.at(-1)]}”`;
        return `Step ${step} extends one beginning. Its likeliest next word ${went}.${last ? ` ${concluded(state)}` : ""}`;
      }
      const [lives, over, dropped] = ["lives", "ended", "dropped"].map((fate) => list.filter((each) => each.fate === fate).length);
      const asked = `Step ${step} extends ${counted(levels[step - 1].length, "beginning", "beginnings")} by a word`;
      const fates = [`${lives} ${lives === 1 ? "lives" : "live"} on`, ...(over ? [`${over} ended`] : []), ...(dropped ? [`${dropped} ${dropped === 1 ? "is" : "are"} dropped`] : [])];
      return `${asked}. Of the best ${list.length}, ${fates.join(", ")}.${last ? ` ${concluded(state)}` : ""}`;
    }
    function concluded({ finished, best, inputs, levels }) {
      const full = `What lives now has ${longest} ids with <bos>, the most that are allowed`;
      if (!finished.length) return `${full}, and no sentence has ended: the likeliest beginning wins, ${quoted(best.ids)}.`;
      return `${levels.at(-1).length ? `${full}, so the search ends; one of the sentences that have ended wins. ` : ""}${winning(finished, best, inputs)}`;
    }
    function winning(finished, best, inputs) {
      const likeliest = finished.reduce((one, other) => (other.log_prob > one.log_prob ? other : one));
      const sum = `${shown(best.log_prob)} / ${divisor(best.ids, inputs.length_penalty).toFixed(2)} = ${shown(best.score)}`;
      if (finished.length === 1) return `${capital(quoted(best.ids))} is the only sentence that ended, so it wins, with the score ${sum}.`;
      const why = likeliest === best ? " Its log-probability is the highest, too."
        : ` ${capital(quoted(likeliest.ids))} has the higher log-probability, ${shown(likeliest.log_prob)}, but is shorter, and divided by less.`;
      return `${capital(quoted(best.ids))} wins: its score, ${sum}, is the highest of ${finished.length}.${why}`;
    }

    let timer;
    function update() {
      const state = now();
      const { step, count } = state;
      picker.value = model.get("sentence");
      size.input.value = size.number.textContent = model.get("beam_size");
      size.input.setAttribute("aria-valuetext", model.get("beam_size") === 1 ? "1, greedy" : `${model.get("beam_size")}`);
      if (model.get("beam_size") === 1) size.number.textContent = "1, greedy";
      penalty.input.value = model.get("length_penalty");
      penalty.number.textContent = model.get("length_penalty").toFixed(1);
      pace.input.max = count;
      pace.input.value = step;
      pace.number.textContent = `${step} of ${count}`;
      pace.input.setAttribute("aria-valuetext", `step ${step} of ${count}`);
      back.disabled = step === 1;
      next.disabled = step === count;
      const sentence = told(state);
      verdict.textContent = sentence;
      drawTree(state);
      drawKey(state);
      drawRanked(state);
      drawEnded(state);
      clearTimeout(timer); // speak when the hand rests, not at every step on the way
      timer = setTimeout(() => { spoken.textContent = sentence; }, 400);
    }

    const move = (by) => {
      const { step, count } = now();
      choose({ step: Math.max(0, Math.min(count - 1, step - 1 + by)) });
      if (next.disabled && document.activeElement === next) back.focus(); // a disabled button would lose the keyboard
      if (back.disabled && document.activeElement === back) next.focus();
    };
    picker.addEventListener("change", () => choose({ step: 0, sentence: Number(picker.value) }));
    size.input.addEventListener("input", () => choose({ beam_size: Number(size.input.value), ...(now().last ? { step: longest } : {}) })); // who is at the end stays there
    penalty.input.addEventListener("input", () => choose({ length_penalty: Number(penalty.input.value) }));
    pace.input.addEventListener("input", () => choose({ step: Number(pace.input.value) - 1 }));
    back.addEventListener("click", () => move(-1));
    next.addEventListener("click", () => move(1));

    const events = [...Object.keys(START), "computed"].map((name) => `change:${name}`);
    for (const event of events) model.on(event, update);
    let width;
    const resized = new ResizeObserver(() => {
      if (tree.clientWidth === width) return;
      width = tree.clientWidth;
      drawTree(now());
    });
    resized.observe(tree);
    update();
    return () => {
      clearTimeout(timer);
      resized.disconnect();
      for (const event of events) model.off(event, update);
    };
  }

  globalThis.explorers ??= {};
  globalThis.explorers.beam = { render, compute, outcome };
})();
