// The map of the first page: a line that says what a box does, and the parts that are at work while
// the translator reads and writes. Either works without the other.
(() => {
  const map = document.querySelector("nav.transformer-map");
  const line = map?.querySelector(".does");
  if (!line) return;
  const boxes = [...map.querySelectorAll("a.box")];
  const hint = line.textContent;
  let working = hint; // what the line says while no box is pointed at

  for (const box of boxes) {
    const tell = () => { line.textContent = box.getAttribute("aria-label"); };
    const rest = () => { line.textContent = working; };
    for (const event of ["pointerenter", "focus"]) box.addEventListener(event, tell);
    for (const event of ["pointerleave", "blur"]) box.addEventListener(event, rest);
  }

  // phase: "read", "write" or "rest"; word: the one that was just written.
  document.addEventListener("translator", ({ detail: { phase, word } }) => {
    for (const box of boxes)
      box.classList.toggle("at-work", box.dataset.phase.split(" ").includes(phase));
    const wrote = word ? `The decoder writes “${word}”.` : "The decoder ends the sentence.";
    const said = { read: "The encoder reads the English sentence.", write: wrote };
    working = said[phase] ?? hint;
    line.textContent = working;
  });
})();
