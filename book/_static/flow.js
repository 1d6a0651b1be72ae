// Pictures of the flow that move: buttons below such a picture play it, stop it, and go step by
// step. Until a reader uses them, the whole picture is there, as it is without this script.

document.addEventListener("DOMContentLoaded", () => {
  const PAUSE = 1800; // milliseconds for a step
  const { html, button, stepper } = globalThis.explorerKit;
  const rest = matchMedia("(prefers-reduced-motion: reduce)");

  for (const picture of document.querySelectorAll(".flow[data-steps]")) {
    const sentences = JSON.parse(picture.dataset.steps);
    const count = sentences.length;
    const said = html("p", { "aria-live": "polite" });
    const walk = stepper("Next", (by) => {
      stop();
      show(step + by);
    });
    const play = button("Play", () => (timer ? stop() : start()));
    let step = count;
    let timer = null;

    function show(number) {
      step = number;
      for (const part of picture.querySelectorAll("[data-step]"))
        part.classList.toggle("later", Number(part.dataset.step) > step);
      said.textContent = sentences[step - 1];
      walk.show(step, count);
    }
    // Where a reader wants no motion, this only goes back to the first step.
    function start() {
      show(1);
      if (rest.matches) return;
      play.textContent = "Stop";
      timer = setInterval(() => {
        show(step + 1);
        if (step === count) stop();
      }, PAUSE);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = rest.matches ? "From the start" : "Play";
    }

    stop();
    walk.show(step, count);
    said.textContent = `A picture in ${count} steps.`;
    const name = "Steps of the picture above";
    picture.after(html("div", { class: "flow-player", role: "group", "aria-label": name },
      play, ...walk.field.childNodes, said));
  }
});
