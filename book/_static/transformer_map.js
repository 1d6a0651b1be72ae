// The map of the first page: a line that says what a box does, a sentence to follow from part to part,
// and the parts that are at work while the translator reads and writes. Any works without the others.
(() => {
  const map = document.querySelector("nav.transformer-map");
  const line = map?.querySelector(".does");
  if (!line) return;
  const boxes = [...map.querySelectorAll("a.box")];
  if (matchMedia("(hover: none)").matches)
    line.textContent = "Tap a box to see what it does, and once more to open its chapter.";
  const hint = line.textContent;
  let working = hint; // what the line says while no box is pointed at
  let tapped; // the box that a finger has asked about

  const say = (text) => {
    working = text;
    line.textContent = text;
  };
  const light = (isAtWork) => {
    for (const box of boxes) box.classList.toggle("at-work", isAtWork(box));
  };

  for (const box of boxes) {
    const tell = () => { line.textContent = box.getAttribute("aria-label"); };
    const rest = () => { line.textContent = working; };
    for (const event of ["pointerenter", "focus"]) box.addEventListener(event, tell);
    for (const event of ["pointerleave", "blur"]) box.addEventListener(event, rest);
    box.addEventListener("click", (event) => { // a finger cannot point without choosing
      if (event.pointerType === "touch" && tapped !== box) event.preventDefault();
      tapped = box;
      tell();
    });
  }

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
    next = now.length ? next + 1 : 0;
    const ended = "The word goes back in at the bottom, and the decoder begins again for the next one.";
    const text = now.length ? `${next} of ${steps.length}: ${now[0].getAttribute("aria-label")}` : ended;
    say(text);
    map.querySelector("[role=status]").textContent = text;
    button.textContent = now.length ? "Next step" : begin;
  });
  map.insertBefore(button, line);

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
