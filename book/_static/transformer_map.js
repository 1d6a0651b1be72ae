// The map of the first page: a line that says what a box does, the translator's sentence to follow
// from part to part, and the parts that are at work while it reads and writes. Any works without the
// others.
(() => {
  const map = document.querySelector("nav.transformer-map");
  const line = map?.querySelector(".does");
  if (!line) return;
  const boxes = [...map.querySelectorAll("a.box")];
  if (matchMedia("(hover: none)").matches)
    line.textContent = "Tap a box to see what it does, and once more to open its chapter.";
  const STRONG = 2; // a number of this size has its colour in full
  const hint = line.textContent;
  let working = [hint]; // what the line says while no box is pointed at
  let tapped; // the box that a finger has asked about

  const say = (...parts) => {
    working = parts;
    line.replaceChildren(...parts);
  };
  const light = (isAtWork) => {
    for (const box of boxes) box.classList.toggle("at-work", isAtWork(box));
  };

  for (const box of boxes) {
    const tell = () => { line.textContent = box.getAttribute("aria-label"); };
    const rest = () => { line.replaceChildren(...working); };
    for (const event of ["pointerenter", "focus"]) box.addEventListener(event, tell);
    box.addEventListener("focus", () => { if (box.matches(":focus-visible")) reveal(box); });
    for (const event of ["pointerleave", "blur"]) box.addEventListener(event, rest);
    box.addEventListener("click", (event) => { // a finger cannot point without choosing
      if (event.pointerType === "touch" && tapped !== box) event.preventDefault();
      tapped = box;
      tell();
    });
  }

  // A vector as a strip of its first numbers: blue above 0, orange below, the stronger the larger.
  function strip(vector) {
    const { html } = globalThis.explorerKit;
    return html("span", { class: "strip" }, ...vector.map((number) => {
      const cell = html("span", { class: number < 0 ? "below" : "above" });
      cell.style.setProperty("--size", Math.min(1, Math.abs(number) / STRONG).toFixed(2));
      return cell;
    }));
  }

  // One chip for each word: what passes through a part, as `strips` of vectors, as `notes`, and as
  // `shares`, which give a chip a bar, and a number where there is no note.
  function chips(words, { lang = "en", strips, notes, shares }) {
    const { html } = globalThis.explorerKit;
    return words.map((word, i) => {
      const parts = [html("span", word.startsWith("<") ? {} : { lang }, word)];
      const note = notes?.[i] ?? shares?.[i].toFixed(2);
      if (note !== undefined) parts.push(html("small", {}, String(note)));
      if (strips) parts.push(strip(strips[i]));
      const chip = html("span", { class: `chip${shares ? " share" : ""}` }, ...parts);
      if (shares) chip.style.setProperty("--share", shares[i].toFixed(3));
      return chip;
    });
  }

  // A vector in words: its first three numbers.
  const told = (vector) =>
    `${vector.slice(0, 3).map((number) => globalThis.explorerKit.shown(number)).join(", ")}, …`;

  // The word that takes in most of another one, and from which: their places.
  function busiest(looks) {
    const others = looks.map((row, i) => row.map((share, j) => (i === j ? 0 : share)));
    const most = others.map((row) => Math.max(...row));
    const taker = globalThis.explorerKit.largestAt(most);
    return [taker, globalThis.explorerKit.largestAt(others[taker])];
  }

  // What happens in each step on the way to the word that is chosen in the translator: lists of
  // texts and of elements. `inside` is there for the sentences that came with the page.
  function journey({ source, inside, written, place, weights, likely }) {
    const { said, italian, largestAt, softmax, shown: minus } = globalThis.explorerKit;
    const { joined, isWord, percent, which } = globalThis.translating;
    const [nth, quoted] = which(written, place);
    const word = isWord(written[place])
      ? [nth.replace("the", "The"), italian(quoted)] : "“end”"; // which begins a sentence
    const before = italian(`“${joined(written.slice(0, place))}”`);
    const looked = largestAt(weights);
    const english = (i) => which(source, i).join("");
    const twins = [...source.keys()].filter((i) => source.indexOf(source[i]) < i);
    const twin = twins.find((i) => source[i] === source[looked]) ?? twins[0] ?? -1;
    const one = source.indexOf(source[twin]);
    const shown = twin < 0 ? 0 : twin;
    const read = (kind) => inside && told(inside.source[kind][shown]);
    const sure = (share) => share.toFixed(2);
    const [taker, giver] = inside ? busiest(inside.looks) : [];
    const seen = inside?.looks[taker];
    const { heads, scores, head_dim: size } = inside?.asks ?? {};
    const shares = inside && softmax(scores[place]);
    const [most, second] = inside ? [...shares.keys()].sort((i, j) => shares[j] - shares[i]) : [];
    const back = inside?.back[place];
    const steps = [
      [`Each word of “${joined(source)}” becomes an id, and the id selects a row `,
        inside ? `of ${inside.width} numbers; a strip shows the first eight, blue above 0 and ` +
          "orange below. " : "of numbers from a table. (The vectors inside are stored for the " +
          "examples only: of your own sentence you see the ids here, and later the weights of " +
          "the last layer and the likely words.) ",
        twin < 0 ? "" : `Every “${source[twin]}” gets the same row${inside ? ": " : "."}`,
        inside ? `${twin < 0 ? `For “${source[0]}” they begin ` : ""}${read("rows")}` : ""],
      ["A pattern that depends on the position alone is added to each row, ",
        twin < 0 ? "so that the model knows where each word is."
          : `so from here on one “${source[twin]}” differs from the other`,
        twin < 0 ? "" : !inside ? "."
          : `: ${told(inside.source.places[one])} and ${read("places")}`],
      ["Each word looks at the whole sentence, with several heads, and takes in a mix of what it ",
        "finds.", !inside ? "" : ` In the first of the ${inside.layers} layers, averaged over its ` +
          `${inside.heads} heads, ${english(taker)} takes ${sure(seen[giver])} of its mix from ${
            english(giver)} and ${sure(seen[taker])} from itself.`],
      ["The mix is added to the word’s vector, then what a small network makes of that; norms keep ",
        "the numbers in bounds. So it goes on, layer by layer. What comes out is the memory: one ",
        "vector for each English word."],
      place ? said`The decoder reads what it has written so far: ${before}. These words become
        vectors, too.` : ["Nothing is written yet, so the decoder begins with a mark for the start."],
      ["Positions are added here in the same way as to the English words."],
      ["Each word looks at itself and at those before it, never ahead, because the next word is ",
        "what has to be found.", back ? " Below: the last word, averaged over the first layer’s " +
          "heads." : ""],
      ["The last of these words asks the memory what comes next. In the last layer, averaged over ",
        `its heads, it looks hardest at ${english(looked)}, with ${sure(weights[looked])} of its `,
        "attention."],
      inside ? [`Head ${heads[place] + 1} of the last layer, the least sure one here, makes a query `,
        `of the last word’s vector, and a key of each English word’s: ${size} numbers, of which you `,
        `see eight. Query times key, summed and divided by √${size}, is the score: ${
          minus(scores[place][most])} for ${english(most)}`, second === undefined ? "" :
          `, ${minus(scores[place][second])} for ${english(second)}`,
        `. The softmax makes shares of the scores: ${sure(shares[most])}`, second === undefined
          ? "." : ` and ${sure(shares[second])}.`]
        : ["Each head makes a query of the last word’s vector, and a key of each English word’s. ",
          "The better they match, the higher the score; the softmax makes shares of the scores."],
      inside ? [`The head also makes a value of each English word’s vector, and mixes the values in `,
        `these shares, above all that of ${english(most)}: `, told(mixed(inside.asks, place)),
        " What all heads have mixed, side by side and multiplied by a matrix, is what the attention ",
        "has found."]
        : ["Each head also makes a value of each English word’s vector, and mixes the values in these ",
          "shares. What all heads have mixed is what the attention has found."],
      ["As after each attention before, what was found is added to the word’s vector, and a small ",
        "network works on each word by itself. After the last layer, the next word is chosen from ",
        `the vector of the last one${inside ? ": " : "."}`, inside ? told(inside.end[place]) : ""],
      said`A matrix gives each Italian word a score, and the softmax makes probabilities of the
        scores. ${word} gets ${percent(likely[0][1])} and is chosen.`,
    ];
    const end = isWord(written[place])
      ? said`${word} goes back into the decoder, which begins again for the next word.`
      : ["So the translation is complete. Choose another word of it, and follow that one."];
    return { steps, end };
  }

  // What passes in each of these steps, as chips.
  function passage({ source, ids, inside, written, place, weights, likely }) {
    const { isWord, percent, UNK } = globalThis.translating;
    const soFar = ["<bos>", ...written.slice(0, place)];
    const seen = inside?.looks[busiest(inside.looks)[0]];
    const back = inside?.back[place];
    const numbers = (inside?.source.ids ?? ids).map((id) =>
      (id === UNK ? `${id}: unknown` : id));
    const vectors = (words, strips, lang) => (inside ? chips(words, { strips, lang }) : []);
    return [
      chips(source, { notes: numbers, strips: inside?.source.rows }),
      vectors(source, inside?.source.places),
      seen ? chips(source, { shares: seen }) : [],
      vectors(source, inside?.memory),
      vectors(soFar, inside?.written.rows, "it"),
      vectors(soFar, inside?.written.places, "it"),
      back ? chips(soFar, { shares: back, lang: "it" }) : [],
      chips(source, { shares: weights }),
      inside ? matched(source, inside.asks, place) : [],
      inside ? found(source, inside.asks, place) : [],
      vectors(soFar.slice(-1), [inside?.end[place]], "it"),
      likely.map(([each, share]) => chips([isWord(each) ? each : "<end>"],
        { lang: "it", notes: [percent(share)], shares: [share] })[0]),
    ];
  }

  // A query, and for each word its key, its score and its share.
  function matched(source, { heads, queries, keys, scores }, place) {
    const { softmax, shown } = globalThis.explorerKit;
    const shares = softmax(scores[place]);
    const notes = scores[place].map((score, i) => `${shown(score)} → ${shares[i].toFixed(2)}`);
    const [query] = chips(["query"], { strips: [queries[place]], notes: ["score → share"] });
    return [query, ...chips(source, { strips: keys[heads[place]], notes, shares })];
  }

  // The values of all words, with their shares, and their mix.
  function found(source, { heads, values, ...asks }, place) {
    const shares = globalThis.explorerKit.softmax(asks.scores[place]);
    const strips = values[heads[place]];
    const [mix] = chips(["mix"], { strips: [mixed({ heads, values, ...asks }, place)], notes: ["sum"] });
    return [...chips(source, { strips, shares }), mix];
  }

  // What a head finds: the values, each times its share, summed.
  function mixed({ heads, values, scores }, place) {
    const { softmax, sum } = globalThis.explorerKit;
    const shares = softmax(scores[place]), rows = values[heads[place]];
    return rows[0].map((_, i) => sum(rows.map((row, word) => shares[word] * row[i])));
  }

  // Some words as far as there is room for their letters, the first of them or the last.
  function fitting(words, room, fromTheEnd = false) {
    const { joined } = globalThis.translating;
    const some = (count) => (fromTheEnd ? words.slice(words.length - count) : words.slice(0, count));
    let count = words.length;
    while (count > 1 && joined(some(count)).length > room) count -= 1;
    const text = joined(some(count));
    if (count === words.length) return text;
    return fromTheEnd ? `… ${text}` : `${text} …`;
  }

  // Beside the drawing's first and last boxes: what goes in, and what has come out. The word that
  // is followed is there when it has been found.
  function write({ source, written, place }, isFound) {
    const out = written.slice(0, place + isFound).filter(globalThis.translating.isWord);
    for (const [svg, room] of [["wide", 26], ["phone", 14]]) {
      const [read, wrote] = map.querySelectorAll(`svg.${svg} .words`);
      read.textContent = fitting(source, room);
      wrote.textContent = fitting(out, room, true) + (isFound ? "" : " …");
    }
  }

  // Scrolls until a box is neither under the page's header nor under what is said of it.
  function reveal(box) {
    const { top, bottom } = box.getBoundingClientRect();
    const [ceiling, floor] = [70, bar.getBoundingClientRect().top - 8];
    if (bottom > floor) scrollBy(0, bottom - floor);
    else if (top < ceiling) scrollBy(0, top - ceiling);
  }

  const bar = map.querySelector(".following");
  const passing = document.createElement("div"); // what passes through the part at work
  Object.assign(passing, { className: "passing", ariaHidden: "true" });
  const steps = [];
  for (const box of boxes.filter(({ dataset }) => dataset.step))
    for (const step of box.dataset.step.split(" "))
      (steps[step] ??= []).push(box); // on a wide screen, and on a phone
  const begin = "Follow a sentence";
  const [back, button] = ["back", "follow"].map((className) =>
    Object.assign(document.createElement("button"), { type: "button", className }));
  const walk = document.createElement("div");
  walk.className = "walk";
  walk.append(back, button);
  let next = 0; // the step that comes when the button is pressed; after the last, the end
  // Before the first step, and whenever another word is chosen.
  function restart() {
    next = 0;
    [back.textContent, back.hidden, button.textContent] = ["Back", true, begin];
  }
  function go() {
    const now = steps[next] ?? [];
    light((box) => now.includes(box));
    const followed = globalThis.translating?.latest;
    const trip = followed && journey(followed);
    if (followed) write(followed, next + 1 >= steps.length);
    bar.classList.toggle("on", now.length > 0);
    passing.replaceChildren(...(followed && passage(followed)[next] || []));
    if (now.length) {
      const [name, does] = now[0].getAttribute("aria-label").split(/, chapter \d+\. /);
      say(`${next + 1} of ${steps.length}: ${name}. `, ...(trip?.steps[next] ?? [does]));
    } else say(...(trip?.end ?? ["The word goes back into the decoder."]));
    next += 1;
    back.hidden = next < 2;
    button.textContent = now.length ? "Next step" : followed?.onward ? "Follow the next word" : begin;
    map.querySelector("[role=status]").replaceChildren(...line.cloneNode(true).childNodes);
    const shown = now.find((box) => box.getClientRects().length);
    if (shown) reveal(shown);
  }
  button.addEventListener("click", () => {
    if (next > steps.length) {
      globalThis.translating?.latest?.onward?.();
      restart();
    }
    go();
  });
  back.addEventListener("click", () => {
    next -= 2;
    go();
    if (back.hidden) button.focus({ preventScroll: true });
  });
  restart();
  bar.append(passing, walk);

  // phase: "read", "write" or "rest"; word: the one that was just written.
  document.addEventListener("translator", ({ detail: { phase, word } }) => {
    restart();
    bar.classList.remove("on");
    passing.replaceChildren();
    light((box) => box.dataset.phase.split(" ").includes(phase));
    const wrote = word ? `The decoder writes “${word}”.` : "The decoder ends the sentence.";
    const said = { read: "The encoder reads the English sentence.", write: wrote };
    say(said[phase] ?? hint);
  });
})();
