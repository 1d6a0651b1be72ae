// Three matrices that learn, in the page, which words have to meet: the training of chapter 4, with
// its task, arithmetic and kind of steps. It shows the map of one sentence, what each of its words
// answers, and the share of right answers by step, beside that of the run before.
(() => {
  const { change, html, draw, svg, figure, path, level, slider, checkbox, button, sum, softmax,
    largestAt, counted, shown, mount } = globalThis.explorerKit;
  const start = { width: 8, divided: true, spread: 0.24, rate: 5, seed: 1, sentence: 0 };
  const KINDS = ["width", "divided", "spread", "rate", "seed"];
  const WIDTHS = [4, 8, 16, 32, 64, 128];
  const SPREADS = [0.12, 0.24, 0.35, 0.5, 0.7, 1, 1.4];
  const RATES = [[5 / 64, "5/64"], [5 / 8, "5/8"], [5, "5"], [50, "50"]];
  const OWN_RATE = 5; // of the values, which the choices leave alone
  const CHOICES = 3; // words for each position
  const COUNT = 200, ROUND = 300, PACE = 2; // sentences, steps of a round, steps of a frame
  const PLOT = { width: 660, height: 210, left: 92, right: 28, top: 14, bottom: 34 };

  function generator(seed) { // mulberry32
    let state = Math.imul(seed, 0x9e3779b1);
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }

  const sentencesOf = (random, length) => Array.from({ length: COUNT }, () =>
    Array.from({ length }, (_, place) => CHOICES * place + Math.floor(CHOICES * random())));

  // The rows of W^Q, W^K and W^V: one for each word, because the embeddings are one-hot.
  function matrices({ words, width, spread }, random) {
    const normal = () =>
      Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const rows = (columns, size) => Array.from({ length: words }, () =>
      Float64Array.from({ length: columns }, () => size * normal()));
    return [rows(width, spread), rows(width, spread), rows(words, 1 / Math.sqrt(words))];
  }

  const times = (a, b) => sum(Array.from(a, (number, i) => number * b[i]));
  const every = ([query, key], divisor) =>
    query.map((q) => key.map((k) => times(q, k) / divisor)); // the score of each pair of words

  // What one word of a sentence gets: its weights, and the probabilities of its answer.
  function asked(ids, from, scores, value) {
    const weights = softmax(ids.map((id) => scores[ids[from]][id]));
    const mixed = new Array(value.length).fill(0);
    ids.forEach((id, j) => {
      for (let i = 0; i < mixed.length; i += 1) mixed[i] += weights[j] * value[id][i];
    });
    return { weights, answer: softmax(mixed) };
  }

  // One step of gradient descent on all sentences; the matrices of `w` change.
  function advance({ w, sentences, answers, divisor, rate }) {
    const [query, key, value] = w;
    const scores = every(w, divisor), words = value.length;
    const zeros = () => value.map(() => new Float64Array(words));
    const [ofDots, ofValue] = [zeros(), zeros()];
    for (const ids of sentences)
      for (let from = 0; from < ids.length; from += 1) {
        const { weights, answer } = asked(ids, from, scores, value);
        answer[ids[answers[from]]] -= 1;
        const ofWeights = ids.map((id) => times(answer, value[id]));
        const mean = times(weights, ofWeights);
        ids.forEach((id, j) => {
          ofDots[ids[from]][id] += weights[j] * (ofWeights[j] - mean);
          for (let i = 0; i < words; i += 1) ofValue[id][i] += weights[j] * answer[i];
        });
      }
    const all = sentences.length * answers.length; // the loss is a mean
    const old = query.map((row) => row.slice());
    const step = (rows, others, slope) => rows.forEach((row, a) => others.forEach((other, b) => {
      const by = (rate * slope(a, b)) / (all * divisor);
      for (let i = 0; i < row.length; i += 1) row[i] -= by * other[i];
    }));
    step(query, key, (a, b) => ofDots[a][b]);
    step(key, old, (a, b) => ofDots[b][a]);
    value.forEach((row, a) => row.forEach((_, i) => {
      row[i] -= (OWN_RATE * ofValue[a][i]) / all;
    }));
  }

  // How it does: the share of right answers, and the wrong rows' median of w (1 - w), the slope
  // with which the weight of the word to name follows its score.
  function test({ w, sentences, answers, divisor }) {
    const scores = every(w, divisor), slopes = [];
    let right = 0;
    for (const ids of sentences)
      ids.forEach((_, from) => {
        const { weights, answer } = asked(ids, from, scores, w[2]);
        const wanted = answers[from];
        if (largestAt(answer) === ids[wanted]) right += 1;
        else slopes.push(weights[wanted] * (1 - weights[wanted]));
      });
    slopes.sort((a, b) => a - b);
    const slope = slopes.length ? slopes[Math.floor(slopes.length / 2)] : null;
    return { right: right / (sentences.length * answers.length), slope };
  }

  const percent = (share) =>
    (share < 1 && share > 0.995 ? "over 99 %" : `${Math.round(100 * share)} %`);
  const few = (number) => {
    if (number >= 0.001) return shown(number, 3);
    const zeros = Math.floor(-Math.log10(number));
    return zeros < 12 ? `less than 1 in ${(10 ** zeros).toLocaleString("en")}` : "next to nothing";
  };

  // The map of a sentence, with a frame where each row's answer is, and what each word answers.
  function table(answers) {
    const [head, body] = [html("tr"), html("tbody")];
    const element = html("table", { class: "explorer-table explorer-result forming-map" },
      html("caption", {}, "Weights in one of the test sentences, and what each word names"),
      html("thead", {}, head), body);
    function show(names, rows) {
      head.replaceChildren(html("td"), ...[...names, "names"].map((name) =>
        html("th", { scope: "col" }, name)));
      body.replaceChildren(...rows.map(({ weights, named, right }, from) => {
        const cells = weights.map((weight, j) => {
          const goal = j === answers[from] ? "forming-goal" : "";
          const cell = html("td", { class: `explorer-heat ${goal}` }, shown(weight));
          cell.style.setProperty("--weight", weight.toFixed(3));
          return cell;
        });
        const word = html("span", { class: right ? "" : "explorer-wrong" }, named);
        const answer = html("td", {}, word, right ? " ✓" : " ✗");
        return html("tr", {}, html("th", { scope: "row" }, names[from]), ...cells, answer);
      }));
    }
    return { element, show };
  }

  function curve() {
    const { width, height, left, right, top, bottom } = PLOT;
    const drawing = svg(width, height, { class: "explorer-plot" });
    const y = (share) => height - bottom - share * (height - bottom - top);
    for (const [share, text] of [[0, "0 %"], [0.5, "50 %"], [1, "100 %"]])
      level(drawing, { from: left, to: width - right, at: y(share) }, text);
    const names = draw(drawing, "g", {});
    const [ghost, line] = ["forming-ghost", "explorer-line"].map((name) =>
      draw(drawing, "path", { class: name }));
    const dot = draw(drawing, "circle", { r: 6, class: "explorer-dot" });
    function show(shares, before, count) {
      const x = (step) => left + (step / count) * (width - left - right);
      const points = (all) => path(all.map((share, step) => [x(step), y(share)]));
      names.replaceChildren();
      for (let step = 0; step <= count; step += count / 3)
        draw(names, "text", { x: x(step), y: height - 8, "text-anchor": "middle" }, step);
      change(line, { d: points(shares) });
      change(ghost, { d: before ? points(before.slice(0, count + 1)) : "" });
      change(dot, { cx: x(shares.length - 1), cy: y(shares.at(-1)) });
    }
    const title = "Share of right answers in 200 test sentences, by step (dashed: the run before)";
    return { drawing, framed: figure(title, drawing), show };
  }

  function build({ model, choose, verdict, say }) {
    const [words, answers] = [model.get("words"), model.get("answers")];
    const tests = sentencesOf(generator(99), answers.length);
    let run = null, made = "", earlier = null, timer = null;

    const subscripted = () => [html("i", {}, "d"), html("sub", {}, "k")];
    const pick = (text, values, key) => slider(text, { min: 0, max: values.length - 1 }, (i) =>
      choose({ [key]: values[i][0] ?? values[i] }));
    const width = pick(["Width ", ...subscripted()], WIDTHS, "width");
    const both = () => [html("i", {}, "q"), " and ", html("i", {}, "k")];
    const spread = pick(["Spread of ", ...both(), " at the start"], SPREADS, "spread");
    const rate = pick("Learning rate of the two", RATES, "rate");
    const divided = checkbox(["Divide by √", ...subscripted()], (on) => choose({ divided: on }));
    const go = button(`Train ${ROUND} steps`, () => (timer ? rest() : train()));
    const buttons = html("div", { class: "explorer-buttons" }, go,
      button("One step", () => { rest(); trainOnce(); show(); }),
      button("Start again", () => { rest(); begin(); show(); }),
      button("Other random numbers", () => choose({ seed: model.get("seed") + 1 })),
      button("Other sentence", () => choose({ sentence: (model.get("sentence") + 1) % COUNT })));
    const controls = html("div", { class: "explorer-controls" },
      width.field, divided.field, spread.field, rate.field);
    const map = table(answers), plot = curve();

    function begin() {
      const now = Object.fromEntries(KINDS.map((each) => [each, model.get(each)]));
      const random = generator(now.seed);
      const divisor = now.divided ? Math.sqrt(now.width) : 1;
      if (run?.shares.length > 1) earlier = run.shares;
      run = { sentences: sentencesOf(random, answers.length), answers, divisor, rate: now.rate,
        w: matrices({ ...now, words: words.length }, random) };
      run.seen = test({ ...run, sentences: tests });
      run.shares = [run.seen.right];
    }

    function trainOnce() {
      advance(run);
      run.seen = test({ ...run, sentences: tests });
      run.shares.push(run.seen.right);
    }

    function train() {
      const until = run.shares.length - 1 + ROUND;
      go.textContent = "Stop";
      const onward = () => {
        for (let i = 0; i < PACE; i += 1) trainOnce();
        if (run.shares.length <= until) timer = requestAnimationFrame(onward);
        else rest();
        show();
      };
      timer = requestAnimationFrame(onward);
    }

    function rest() {
      cancelAnimationFrame(timer);
      timer = null;
      go.textContent = `Train ${ROUND} steps`;
    }

    function show() {
      const ids = tests[model.get("sentence")];
      const scores = every(run.w, run.divisor);
      const rows = ids.map((_, from) => {
        const { weights, answer } = asked(ids, from, scores, run.w[2]);
        const named = largestAt(answer);
        return { weights, named: words[named], right: named === ids[answers[from]] };
      });
      map.show(ids.map((id) => words[id]), rows);
      const steps = run.shares.length - 1;
      plot.show(run.shares, earlier, Math.max(ROUND, ROUND * Math.ceil(steps / ROUND)));
      const { right, slope } = run.seen, so = `${percent(right)} of the answers are right`;
      const sure = sum(rows.map(({ weights }) => Math.max(...weights))) / rows.length;
      const when = steps ? `After ${counted(steps, "step")}` : "Before training";
      const stuck = slope === null ? "" : ` In the typical wrong row, the weight of the right word
        follows its score with a slope of ${few(slope)}.`;
      say(`${when}, ${so}. In this sentence a row's largest
        weight is ${percent(sure)} on average.${stuck}`.replace(/\s+/g, " "));
      change(plot.drawing, { "aria-label": `${when}, ${so}.` });
    }

    function update(now) {
      const settings = JSON.stringify(KINDS.map((each) => now[each]));
      if (settings !== made) {
        rest();
        made = settings;
        begin();
      }
      width.show(WIDTHS.indexOf(now.width), now.width, `${now.width} dimensions`);
      spread.show(SPREADS.indexOf(now.spread), now.spread, String(now.spread));
      const [, named] = RATES.find(([value]) => value === now.rate);
      rate.show(RATES.findIndex(([value]) => value === now.rate), named, named);
      divided.input.checked = now.divided;
      show();
    }
    return { update, stop: rest,
      children: [controls, buttons, verdict, map.element, plot.framed] };
  }

  mount("forming", { start, build, advance, test });
})();
