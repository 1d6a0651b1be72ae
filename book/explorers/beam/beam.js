// Beam search, step by step: the tree of the beginnings that live, the extensions that a step
// ranks, and the sentences that have ended. What may follow a beginning comes from a model that the
// page trained; the search is made here.
(() => {
  const { change, html, draw, svg, figure, headings, slider, picker, stepper, shown, counted,
    italian, said, mount } = globalThis.explorerKit;
  const EOS = 2;
  const start = { sentence: 0, beam_size: 2, length_penalty: 0.6, step: 0 };
  const MOST = 5; // beginnings of one length in the tree, and ended sentences in their table
  const SMALL = 0.92; // font size of a number as part of a word's, as in the style sheet
  const WIDE = 560; // pixels from which the tree grows to the right; below it grows downwards

  // A hypothesis is { ids, log_prob }, its ids without <bos>. Its length counts <eos>.
  const divisor = (ids, length_penalty) => ((5 + ids.length) / 6) ** length_penalty;
  const highest = (hypotheses, key = "score") =>
    hypotheses.reduce((best, each) => (each[key] > best[key] ? each : best));

  // The search of solutions/ch09_training.py. `rows` holds for each beginning that any beam asks
  // about its likeliest words: as many as the widest beam looks at.
  function compute({ rows, beam_size, max_len, length_penalty }) {
    const known = new Map(rows.map(([ids, ...row]) => [ids.join(), row]));
    const scoreOf = ({ ids, log_prob }) => log_prob / divisor(ids, length_penalty);
    const scored = (each) => ({ ...each, score: scoreOf(each) });
    const levels = [[{ ids: [], log_prob: 0 }]]; // what lives: at the start, after step 1, ...
    const steps = [];
    const finished = [];
    while (levels.at(-1).length && levels.at(-1)[0].ids.length + 1 < max_len) {
      const extensions = levels.at(-1).flatMap(({ ids, log_prob }) => {
        const [words, logs] = known.get(ids.join());
        return words.map((word, i) => ({ ids: [...ids, word], log_prob: log_prob + logs[i] }));
      }).sort((a, b) => b.log_prob - a.log_prob);
      const live = [];
      steps.push(extensions.slice(0, beam_size > 1 ? 2 * beam_size : 1).map((each) => {
        const lives = live.length < beam_size ? "lives" : "dropped";
        const fate = each.ids.at(-1) === EOS ? "ended" : lives;
        if (fate === "ended") finished.push({ ...scored(each), step: steps.length });
        if (fate === "lives") live.push(each);
        return { ...each, fate };
      }));
      levels.push(live);
    }
    const best = highest(finished.length ? finished : levels.at(-1).map(scored));
    return { levels, steps, finished, best };
  }

  // The search of the page, or what is `given`: which beginnings a learner's function asked about,
  // and what it returned.
  function outcome(model, { sentence, beam_size, length_penalty }, given) {
    const { rows } = model.get("sentences")[sentence];
    const own = compute({ rows, beam_size, max_len: model.get("max_len"), length_penalty });
    const alive = own.levels.slice(0, own.steps.length).map((level) =>
      level.map(({ log_prob }) => log_prob));
    return { ...own, alive, score: own.best.score, ...given };
  }

  const begins = (ids, others) =>
    others.length <= ids.length && others.every((id, i) => id === ids[i]);

  // The beginnings of each length in an order without crossings, and the place of each one's
  // parent.
  function arranged(levels) {
    let before = [];
    return levels.map((level) => {
      const follows = (ids, other) => other.ids.length + 1 === ids.length && begins(ids, other.ids);
      before = level.slice(0, MOST)
        .map((each) => ({ ...each, parent: before.findIndex((other) => follows(each.ids, other)) }))
        .sort((a, b) => a.parent - b.parent || b.log_prob - a.log_prob);
      return before;
    });
  }

  // The tree, drawn again by `show` for a state of the search and for another width.
  function searchTree(vocabulary, longest, quoted) {
    const drawing = svg(1, 1);
    const key = html("p", { class: "beam-key", "aria-hidden": "true" });
    const framed = figure("The beginnings that live, each with its log-probability", drawing, key);
    framed.classList.add("beam-tree");

    // How large the tree is, and where its places are: `x` and `y` of a place along and across it.
    function sized(levels) {
      const width = framed.clientWidth || 640;
      const wide = width >= WIDE;
      const slots = Math.max(1, ...levels.map((level) => Math.min(MOST, level.length)));
      const lengths = Math.max(longest, levels.length);
      const along = wide ? width / lengths : 66;
      const across = wide ? 62 : Math.min(110, width / slots);
      const font = wide ? 14 : Math.min(12, across / 5.3);
      const height = wide ? slots * across : lengths * along;
      return { wide, width, height, along, across, font, widest: wide ? along - 10 : across - 4 };
    }

    // How wide a word is in bold, which a box can become.
    function measure(font) {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = `600 ${font}px ${getComputedStyle(drawing).fontFamily}`;
      return (text) => pen.measureText(text).width;
    }

    function boxesOf({ levels, finished, best, step, yours, last, result }, size) {
      const { wide, width, height, along, across, widest } = size;
      const wideAs = measure(size.font);
      const winner = last ? (yours ? result : best.ids) : null;
      const ends = yours ? [] : finished.filter((each) => each.step < step);
      const goals = !last ? [...levels[step], ...ends] : finished.length ? ends : [best];
      return arranged(levels.slice(0, step + 1)).map((level, length) => level.map((each, slot) => {
        const text = vocabulary[each.ids.at(-1)] ?? "<bos>";
        const main = along * (length + 0.5) - (wide ? 0 : 8);
        const side = (wide ? height : width) / 2 + across * (slot - (level.length - 1) / 2);
        const [x, y] = wide ? [main, side - 7] : [side, main];
        const end = ends.find(({ ids }) => ids.length === length + 1 && begins(ids, each.ids));
        const goes = (yours && last) || goals.some(({ ids }) => begins(ids, each.ids));
        const won = winner && begins(winner, each.ids);
        const inked = Math.max(wideAs(text), SMALL * wideAs(shown(each.log_prob)));
        const room = Math.min(widest, Math.max(40, (wide ? 14 : 8) + inked));
        const kind = won ? "won" : goes ? "lives" : "dead";
        return { ...each, text, x, y, end, kind, room, wins: last && end === best };
      }));
    }

    function edge(parent, from, to, wide) {
      const below = from.end ? 35 : 18;
      const [x0, y0, x1, y1] = wide
        ? [from.x + from.room / 2, from.y, to.x - to.room / 2, to.y]
        : [from.x, from.y + below, to.x, to.y - 18];
      const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
      const bends = wide ? `${x} ${y0} ${x} ${y1}` : `${x0} ${y} ${x1} ${y}`;
      const d = `M${x0} ${y0} C${bends} ${x1} ${y1}`;
      draw(parent, "path", { d, class: `beam-edge beam-${to.kind}` });
    }

    // A box with its word and log-probability; where a sentence ended after it, a square with the
    // score below.
    function node({ text, log_prob, x, y, end, kind, room, wins }) {
      const group = draw(drawing, "g", { class: `beam-node beam-${kind}` });
      const rect = (place, name) => draw(group, "rect", { ...place, class: name });
      const small = { "text-anchor": "middle", class: "beam-small" };
      if (end) {
        const frame = { x: x - 30, y: y + 16, width: 60, height: 18, rx: 5 };
        rect(frame, `beam-end${wins ? " beam-best" : ""}`);
        rect({ x: x - 26, y: y + 21, width: 8, height: 8 }, "beam-stop");
        draw(group, "text", { x: x + 5, y: y + 29, ...small }, shown(end.score));
      }
      rect({ x: x - room / 2, y: y - 18, width: room, height: 36, rx: 6 }, "beam-box");
      const language = text.startsWith("<") ? {} : { lang: "it" };
      draw(group, "text", { x, y: y - 3, "text-anchor": "middle", ...language }, text);
      draw(group, "text", { x, y: y + 12, ...small }, shown(log_prob));
    }

    function show(state) {
      const { levels, step, yours, last } = state;
      const size = sized(levels);
      const { wide, width, height, along } = size;
      Object.assign(drawing.style, { fontSize: `${size.font}px`, height: `${height}px` });
      change(drawing, { viewBox: `0 0 ${width} ${height}` });
      drawing.replaceChildren();
      const boxes = boxesOf(state, size);
      const lines = draw(drawing, "g", {});
      boxes.forEach((level, length) => level.forEach((box) => {
        if (box.parent >= 0) edge(lines, boxes[length - 1][box.parent], box, wide);
        node(box);
      }));
      levels.slice(0, step + 1).forEach((level, length) => {
        const more = level.length - MOST;
        const place = wide
          ? { x: along * (length + 0.5), y: height - 2, "text-anchor": "middle" }
          : { x: width - 2, y: along * length + 4, "text-anchor": "end" };
        if (more > 0) draw(drawing, "text", { ...place, class: "beam-small" }, `and ${more} more`);
      });
      const alive = boxes.at(-1).map(({ ids, log_prob }) => `${quoted(ids)}, ${shown(log_prob)}`);
      change(drawing, { "aria-label":
        `Tree of the beginnings after step ${step}. The longest: ${alive.join("; ") || "none"}.` });

      const signs = [["lives", yours ? "lives" : last ? "led to an end" : "leads on or to an end"]];
      if (!yours) signs.push(["dead", "led to nothing"], ["ended", "ended here, with its score"]);
      if (last) signs.push(["won", yours ? "returned" : "wins"]);
      key.replaceChildren(...signs.map(([kind, text]) =>
        html("span", {}, html("span", { class: `beam-sign beam-${kind}` }), text)));
    }
    return { framed, show };
  }

  // The two tables: the extensions that a step went through (of a learner's search, what it went on
  // with), and the sentences that have ended.
  function searchTables(vocabulary) {
    const ranked = html("table", { class: "explorer-table beam-ranked" });
    const ended = html("table", { class: "explorer-table beam-ended-list" });
    const words = (ids) => ids.map((id) => vocabulary[id]).join(" ");
    const fill = (table, caption, names, rows) => table.replaceChildren(
      html("caption", {}, caption), headings(names), html("tbody", {}, ...rows));
    function row(kind, ids, cells) {
      const before = ids.length > 1 ? `${words(ids.slice(0, -1))} ` : "";
      const last = html("strong", {}, vocabulary[ids.at(-1)]);
      const parts = ids.length ? html("span", { lang: "it" }, before, last)
        : html("span", {}, "(no word)");
      return html("tr", { class: `beam-${kind}` }, html("th", { scope: "row" }, parts),
        ...cells.map((cell) => html("td", {}, cell)));
    }

    function showRanked({ steps, levels, step, yours, last, result, log_prob }) {
      const returned = [{ ids: result, log_prob, fate: "returned" }];
      const living = () => levels[step].map((each) => ({ ...each, fate: "lives" }));
      const list = yours ? (last ? returned : living()) : steps[step - 1];
      const fateOf = ({ fate }) => (last && fate === "lives" ? "unfinished" : fate);
      const many = list.length > 1 ? `${list.length} extensions, in order` : "extension";
      const goes = `What your search goes on with after step ${step}`;
      const went = last ? "What your function returns" : goes;
      const caption = yours ? went : `Step ${step}: the best ${many}`;
      fill(ranked, caption, ["beginning", "log-prob.", "fate"],
        list.map((each) => row(fateOf(each), each.ids, [shown(each.log_prob), fateOf(each)])));
    }

    function showEnded({ finished, inputs, step, yours, last, best }) {
      ended.hidden = yours;
      if (yours) return;
      const list = finished.filter((each) => each.step < step).sort((a, b) => b.score - a.score);
      const rows = list.slice(0, MOST).map((each) => {
        const divided = divisor(each.ids, inputs.length_penalty).toFixed(2);
        const cells = [shown(each.log_prob), divided, shown(each.score)];
        return row(last && each === best ? "won" : "ended", each.ids, cells);
      });
      const more = list.length - MOST;
      const text = list.length ? `and ${more} more, with lower scores` : "none yet";
      if (!list.length || more > 0)
        rows.push(html("tr", {}, html("td", { colspan: 4, class: "beam-more" }, text)));
      fill(ended, `Ended${last ? "" : " so far"}, the highest score first`,
        ["sentence", "log-prob.", "divided by", "score"], rows);
    }

    const element = html("div", { class: "explorer-parts explorer-result" }, ranked, ended);
    return { element, show: (state) => { showRanked(state); showEnded(state); } };
  }

  // What a step did, as a sentence. `quoted` writes ids as words.
  function story(vocabulary, longest, quoted) {
    const named = (ids, none = "the empty sentence") => (quoted(ids) ? italian(quoted(ids)) : none);
    const opening = (ids) => named(ids, "The empty sentence");

    function winning({ finished, best, inputs }) {
      const divided = divisor(best.ids, inputs.length_penalty).toFixed(2);
      const sum = `${shown(best.log_prob)} / ${divided} = ${shown(best.score)}`;
      const won = opening(best.ids);
      if (finished.length === 1)
        return said`${won} is the only sentence that ended, so it wins, with the score ${sum}.`;
      const likeliest = highest(finished, "log_prob");
      const why = likeliest === best ? [" Its log-probability is the highest, too."]
        : said` ${opening(likeliest.ids)} has the higher log-probability,
          ${shown(likeliest.log_prob)}, but is shorter, and divided by less.`;
      return said`${won} wins: its score, ${sum}, is the highest of ${finished.length}.${why}`;
    }

    function concluded({ finished, best, levels, inputs }) {
      const full = `What is left has all ${longest} words that are allowed, <bos> counted`;
      const none = `${full}, and no sentence has ended: the likeliest beginning wins, `;
      if (!finished.length) return said`${none}${named(best.ids)}.`;
      const over = `${full}, so the search ends; one of the sentences that have ended wins. `;
      return [levels.at(-1).length ? over : "", winning({ finished, best, inputs })];
    }

    const living = (level) => counted(level.length, "beginning");
    function yourStory({ step, last, levels, count, result, score }) {
      if (!last)
        return `After step ${step} your search goes on with ${living(levels[step])}.`;
      return said`After ${counted(count, "step")} your function returns ${named(result)}, with a
        score of ${shown(score)}.`;
    }

    return (state) => {
      const { step, yours, last, levels, steps } = state;
      if (yours) return yourStory(state);
      const list = steps[step - 1];
      if (last) return concluded(state).flat(Infinity);
      if (list.length === 1) {
        const { fate, ids } = list[0];
        const went = fate === "ended" ? ["the end"] : [italian(`“${vocabulary[ids.at(-1)]}”`)];
        return said`Step ${step} extends one beginning. Its likeliest next word is ${went}.`;
      }
      const [lives, over, dropped] = ["lives", "ended", "dropped"].map((fate) =>
        list.filter((each) => each.fate === fate).length);
      const fates = [`${lives} ${lives === 1 ? "lives" : "live"} on`];
      if (over) fates.push(`${over} ended`);
      if (dropped) fates.push(`${dropped} ${dropped === 1 ? "is" : "are"} dropped`);
      const best = `Of the best ${list.length}, ${fates.join(", ")}.`;
      return said`Step ${step} extends ${living(levels[step - 1])} by a word. ${best}`;
    };
  }

  function build({ model, choose, verdict, say }) {
    const [sentences, vocabulary, longest] = ["sentences", "vocabulary", "max_len"].map((key) =>
      model.get(key));
    const quoted = (ids) => {
      const text = ids.filter((id) => id !== EOS).map((id) => vocabulary[id]).join(" ");
      return text && `“${text}”`;
    };
    const seen = () => {
      const answer = model.get("computed");
      const moved = Object.fromEntries(Object.keys(start).map((key) => [key, model.get(key)]));
      const inputs = answer?.inputs ?? moved;
      const found = outcome(model, inputs, answer?.numbers);
      const yours = answer?.numbers !== undefined;
      const count = Math.max(1, yours ? found.levels.length : found.steps.length);
      const step = Math.min(moved.step, count - 1) + 1;
      return { ...found, inputs, yours, count, step, last: step === count };
    };

    const sources = sentences.map(({ source }) => source.join(" "));
    const chooser = picker("Sentence", sources, (sentence) => choose({ step: 0, sentence }));
    // a reader who is at the end stays there
    const size = slider("Beam size", { min: 1, max: 5 }, (beam_size) =>
      choose({ beam_size, ...(seen().last ? { step: longest } : {}) }));
    const penalty = slider("Length penalty", { min: 0, max: 1, step: 0.1 }, (length_penalty) =>
      choose({ length_penalty }));
    const pace = slider("Step", { min: 1 }, (step) => choose({ step: step - 1 }));
    const buttons = stepper("Next step", (by) => {
      const { step, count } = seen();
      choose({ step: Math.max(0, Math.min(count - 1, step - 1 + by)) });
    });
    const controls = html("div", { class: "explorer-controls" },
      chooser.field, size.field, penalty.field, pace.field, buttons.field);
    const tree = searchTree(vocabulary, longest, (ids) => quoted(ids) || "the empty sentence");
    const tables = searchTables(vocabulary);
    const told = story(vocabulary, longest, quoted);

    function update(now) {
      const state = seen();
      const { step, count } = state;
      chooser.input.value = now.sentence;
      const width = now.beam_size === 1 ? "1, greedy" : `${now.beam_size}`;
      size.show(now.beam_size, width, width);
      penalty.show(now.length_penalty, now.length_penalty.toFixed(1));
      pace.input.max = count;
      pace.show(step, `${step} of ${count}`, `step ${step} of ${count}`);
      buttons.show(step, count);
      tree.show(state);
      tables.show(state);
      say(told(state));
    }

    let width;
    const resized = new ResizeObserver(() => {
      if (tree.framed.clientWidth === width) return;
      width = tree.framed.clientWidth;
      tree.show(seen());
    });
    resized.observe(tree.framed);
    const stop = () => resized.disconnect();
    return { update, stop, children: [controls, verdict, tree.framed, tables.element] };
  }

  mount("beam", { start, compute, outcome, build });
})();
