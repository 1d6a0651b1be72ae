// Remembers, in this browser alone, which chapters have been read. Without storage or scripts the book lacks only this.

(() => {
  const KEY = "attention-built-by-hand.read";
  /** The page of a chapter that an address leads to, such as "ch04_attention"; nothing for other pages, the notebooks among them. */
  const pageOf = (href) => new URL(href, location.href).pathname.match(/\/book\/(ch\d\d_\w+)\.html$/)?.[1];

  /** The chapter that a page belongs to, such as "ch04": a chapter may have several pages. */
  const chapterOf = (page) => page.slice(0, 4);

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

  /** Put a tick after each of these links to a page that has been read. */
  function tick(links, done) {
    for (const link of links) {
      link.querySelector(".chapter-tick")?.remove();
      if (!done.has(pageOf(link.href))) continue;
      const mark = element("span", { className: "chapter-tick" }, " ✓");
      mark.append(element("span", { className: "visually-hidden" }, " (read)"));
      link.append(mark);
    }
  }

  /** At the end of a chapter, or of a page of it where it has several, offer to mark it as read. */
  function offer(links) {
    const page = pageOf(location.href);
    const footer = document.querySelector(".prev-next-footer");
    if (!page || !footer) return;
    const pages = new Set(links.map((link) => pageOf(link.href)).filter(Boolean));
    const whole = [...pages].filter((each) => chapterOf(each) === chapterOf(page)).length < 2;
    const what = whole ? "chapter" : "page";
    const button = element("button", { type: "button", className: "chapter-read" });
    const show = (done) => {
      button.setAttribute("aria-pressed", done.has(page));
      button.textContent = done.has(page) ? `✓ You have read this ${what}` : `Mark this ${what} as read`;
    };
    button.addEventListener("click", () => {
      const done = read();
      if (!done.delete(page)) done.add(page);
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

  /** On the first page, say how far one is and where to go on, above its "Start with chapter 1". */
  function welcomeBack(links, done) {
    const list = [...document.querySelectorAll("article ol")].find((each) => each.querySelector('a[href*="ch01_"]'));
    const start = document.querySelector('article p a[href*="ch01_"]');
    if (!list || !start || !done.size) return;
    const pages = links.filter((link) => pageOf(link.href));
    const unread = pages.filter((link) => !done.has(pageOf(link.href)));
    const chaptersOf = (some) => new Set(some.map((link) => chapterOf(pageOf(link.href)))).size;
    const [all, left] = [chaptersOf(pages), chaptersOf(unread)]; // a chapter is read when all its pages are
    const next = unread[0];
    const line = element("p", { className: "chapter-progress" }, `You have read ${all - left} of ${all} chapters. `);
    if (next) line.append("Go on with ", element("a", { href: next.href }, next.textContent.trim()), ".");
    start.closest("p").before(line);
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
