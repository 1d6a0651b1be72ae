// What a link leads to, a term, an equation, a figure, a source, shows itself beside the link: under
// the pointer, with the keyboard, and at the first tap (the second follows the link). sphinx-tippy
// finds the texts; this says how they behave.
(() => {
  const inAList = ({ popper }) => { // a glossary's entry comes without its list
    const content = popper.querySelector(".tippy-content");
    if (!content.querySelector(":scope > dt")) return;
    const list = document.createElement("dl");
    list.append(...content.childNodes);
    content.append(list);
  };
  const typeset = ({ popper }) => { globalThis.MathJax?.typesetPromise?.([popper]); };
  tippy.setDefaultProps({
    appendTo: () => document.querySelector("main"),
    aria: { content: "describedby", expanded: false },
    delay: [250, 100],
    touch: ["hold", 500], // and a tap is answered below
    onCreate: inAList,
    onMount: typeset,
  });

  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") tippy.hideAll(); });

  document.addEventListener("click", (event) => {
    const tip = event.target.closest?.("a")?._tippy;
    if (!tip || event.pointerType !== "touch" || tip.state.isVisible) return;
    event.preventDefault();
    tippy.hideAll();
    tip.show();
  });
})();
