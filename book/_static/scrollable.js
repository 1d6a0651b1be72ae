// What is wider than the page scrolls by itself; here it becomes reachable by keyboard too, while it is wider.

(() => {
  const WIDE = 'mjx-container[display="true"], .bd-article table, .bd-article .table, .bd-article pre, .bd-article div.math';

  function update() {
    for (const element of document.querySelectorAll(WIDE)) {
      const scrolls = element.scrollWidth > element.clientWidth && /auto|scroll/.test(getComputedStyle(element).overflowX);
      if (scrolls) element.tabIndex = 0;
      else if (element.getAttribute("tabindex") === "0" && element.dataset.scrolls) element.removeAttribute("tabindex");
      if (scrolls) element.dataset.scrolls = "true";
      else delete element.dataset.scrolls;
    }
  }

  addEventListener("load", async () => {
    await globalThis.MathJax?.startup?.promise;
    update();
    let waiting;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(update, 200);
    });
  });
})();
