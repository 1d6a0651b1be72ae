// Remembers, in this browser alone, which chapters have been read. Without storage or scripts the book lacks only this.

(() => {
  const KEY = "attention-built-by-hand.read";
  /** The chapter that an address leads to, such as "ch04_attention"; nothing for other pages, the notebooks among them. */
  const chapterOf = (href) => new URL(href, location.href).pathname.match(/\/book\/(ch\d\d_\w+)\.html$/)?.[1];

  function read() {
    try {
      const chapters = JSON.parse(localStorage.getItem(KEY));
      return new Set(Array.isArray(chapters) ? chapters : []);
    } catch {
      return new Set();
    }
  }

  function remember(chapters) {
    try {
      localStorage.setItem(KEY, JSON.stringify([...chapters]));
      return true;
    } catch {
      return false; // private windows may have no storage
    }
  }

  const element = (tag, attributes, text) => Object.assign(document.createElement(tag), attributes, text && { textContent: text });

  /** Put a tick behind each of these links to a chapter that has been read. */
  function tick(links, done) {
    for (const link of links) {
      link.querySelector(".chapter-tick")?.remove();
      if (!done.has(chapterOf(link.href))) continue;
      const mark = element("span", { className: "chapter-tick" }, " ✓");
      mark.append(element("span", { className: "visually-hidden" }, " (read)"));
      link.append(mark);
    }
  }

  /** At the end of a chapter, offer to mark it as read. */
  function offer(links) {
    const chapter = chapterOf(location.href);
    const footer = document.querySelector(".prev-next-footer");
    if (!chapter || !footer) return;
    const button = element("button", { type: "button", className: "chapter-read" });
    const show = (done) => {
      button.setAttribute("aria-pressed", done.has(chapter));
      button.textContent = done.has(chapter) ? "✓ You have read this chapter" : "Mark this chapter as read";
    };
    button.addEventListener("click", () => {
      const done = read();
      if (!done.delete(chapter)) done.add(chapter);
      if (!remember(done)) {
        button.textContent = "This browser keeps nothing for this page, so it cannot be marked.";
        return;
      }
      show(done);
      tick(links, done);
    });
    show(read());
    footer.before(button);
  }

  /** On the first page, say how far one is and where to go on. */
  function welcomeBack(links, done) {
    const list = [...document.querySelectorAll("article ul")].find((each) => each.querySelector('a[href*="ch01_"]'));
    if (!list || !done.size) return;
    const chapters = links.filter((link) => chapterOf(link.href));
    const count = chapters.filter((link) => done.has(chapterOf(link.href))).length;
    const next = chapters.find((link) => !done.has(chapterOf(link.href)));
    const line = element("p", { className: "chapter-progress" }, `You have read ${count} of ${chapters.length} chapters. `);
    if (next) line.append("Go on with ", element("a", { href: next.href }, next.textContent.trim()), ".");
    list.before(line);
    tick(list.querySelectorAll("a"), done);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const links = [...document.querySelectorAll(".bd-docs-nav a.reference.internal")];
    const done = read();
    tick(links, done);
    offer(links);
    welcomeBack(links, done);
  });
})();
