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
    for (const event of ["pointerleave", "blur"]) box.addEventListener(event, rest);
    box.addEventListener("click", (event) => { // a finger cannot point without choosing
      if (event.pointerType === "touch" && tapped !== box) event.preventDefault();
      tapped = box;
      tell();
    });
  }

  // What happens in each step on the way to the word that is chosen in the translator: lists of
  // texts and of elements.
  function journey({ source, written, place, weights, likely }) {
    const { said, italian, largestAt } = globalThis.explorerKit;
    const { joined, isWord, percent } = globalThis.translating;
    const word = isWord(written[place]) ? italian(`“${written[place]}”`) : "“end”";
    const twin = source.find((each, i) => source.indexOf(each) < i);
    const before = italian(`“${joined(written.slice(0, place))}”`);
    const looked = largestAt(weights);
    const steps = [
      [`Each word of “${joined(source)}” becomes an id, and the id selects a row of numbers from `,
        twin ? `a table. Every “${twin}” gets the same row.` : "a table."],
      ["A pattern that depends on the position alone is added to each row, ",
        twin ? `so from here on one “${twin}” differs from the other.`
          : "so that the model knows where each word is."],
      ["Each word looks at the whole sentence, with several heads side by side, and takes in a mix ",
        "of what it finds."],
      ["A small network works on each word by itself. This repeats, layer after layer, and what ",
        "comes out is the memory: one vector for each English word."],
      place ? said`The decoder reads what it has written so far: ${before}. These words become
        vectors, too.` : ["Nothing is written yet, so the decoder begins with a mark for the start."],
      ["Positions are added here in the same way as to the English words."],
      ["Each place looks at itself and at those before it, never ahead, because the next word is ",
        "what has to be found."],
      ["The last place asks the memory what comes next. In the last layer it looks hardest at ",
        `“${source[looked]}”, with ${weights[looked].toFixed(2)} of its attention.`],
      ["The same kind of network as in the encoder works on each place by itself."],
      said`A matrix gives each Italian word a score, and the softmax makes probabilities of the
        scores. ${word} gets ${percent(likely[0][1])} and is chosen.`,
    ];
    const end = isWord(written[place])
      ? said`${word} goes back into the decoder, which begins again for the next word.`
      : ["So the translation is complete. Choose another word of it, and follow that one."];
    return { steps, end };
  }

  // Some words as far as there is room for their letters.
  function fitting(words, room) {
    const { joined } = globalThis.translating;
    let count = words.length;
    while (count > 1 && joined(words.slice(0, count)).length > room) count -= 1;
    return joined(words.slice(0, count)) + (count < words.length ? " …" : "");
  }

  // Beside the drawing's first and last boxes: what goes in, and what has come out.
  function write({ source, written, place }) {
    const out = written.slice(0, place + 1).filter(globalThis.translating.isWord);
    for (const [svg, room] of [["wide", 26], ["phone", 14]]) {
      const [read, wrote] = map.querySelectorAll(`svg.${svg} .words`);
      read.textContent = fitting(source, room);
      wrote.textContent = fitting(out, room);
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
  const steps = [];
  for (const box of boxes.filter(({ dataset }) => dataset.step))
    (steps[box.dataset.step] ??= []).push(box); // on a wide screen, and on a phone
  const begin = "Follow a sentence";
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "follow", textContent: begin });
  let next = 0;
  button.addEventListener("click", () => {
    const now = steps[next] ?? [];
    light((box) => now.includes(box));
    const followed = globalThis.translating?.latest;
    const told = followed && journey(followed);
    if (followed) write(followed);
    if (now.length) {
      const [name, does] = now[0].getAttribute("aria-label").split(/, chapter \d+\. /);
      say(`${next + 1} of ${steps.length}: ${name}. `, ...(told?.steps[next] ?? [does]));
    } else say(...(told?.end ?? ["The word goes back into the decoder."]));
    next = now.length ? next + 1 : 0;
    map.querySelector("[role=status]").replaceChildren(...line.cloneNode(true).childNodes);
    button.textContent = now.length ? "Next step" : begin;
    const shown = now.find((box) => box.getClientRects().length);
    if (shown) reveal(shown);
  });
  bar.prepend(button);

  // phase: "read", "write" or "rest"; word: the one that was just written.
  document.addEventListener("translator", ({ detail: { phase, word } }) => {
    next = 0;
    button.textContent = begin;
    light((box) => box.dataset.phase.split(" ").includes(phase));
    const wrote = word ? `The decoder writes “${word}”.` : "The decoder ends the sentence.";
    const said = { read: "The encoder reads the English sentence.", write: wrote };
    say(said[phase] ?? hint);
  });
})();
