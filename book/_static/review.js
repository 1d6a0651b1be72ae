// The page "Review": asks the quizzes of all chapters one by one, and asks each again after days, the
// later the more often it was right. What was answered is kept in this browser alone.
(() => {
  const KEY = "attention-built-by-hand.review";
  const READ = "attention-built-by-hand.read"; // progress.js keeps it
  const DAYS = [1, 3, 7, 21, 60]; // until a question comes again that was right so often in a row
  const NEW = 10; // questions that are begun in a day
  const { html } = globalThis.explorerKit;

  const stored = (key, otherwise) => {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? otherwise;
    } catch {
      return otherwise;
    }
  };
  const today = () => {
    const now = new Date();
    return Math.round(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()) / 86_400_000);
  };
  const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  const inDays = (days) => (days === 1 ? "tomorrow" : `in ${days} days`);

  const sections = [...document.querySelectorAll("section.review")];
  const quizzes = sections.flatMap((section) => [...section.querySelectorAll(".quiz")]);
  if (!quizzes.length) return;

  // name of a card -> { right: times in a row, due: day, begun: day }
  const kept = stored(KEY, {});
  const answers = kept && typeof kept === "object" && !Array.isArray(kept) ? kept : {};
  let queue = [];
  let asked = null;

  function keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify(answers));
      return "";
    } catch {
      return " This browser keeps nothing for this page, so the next visit begins anew.";
    }
  }

  // What waits: what is due, the oldest first; then new questions, of the chapters that have been
  // marked as read, or of all where none is.
  function waiting() {
    const known = ({ dataset: { card } }) => answers[card];
    const again = quizzes.filter((quiz) => known(quiz)?.due <= today());
    again.sort((one, other) => known(one).due - known(other).due);
    const read = new Set(stored(READ, []));
    const pageOf = (quiz) => quiz.closest("section.review").id.replace("review-", "");
    const fresh = quizzes.filter((quiz) => !known(quiz) && (!read.size || read.has(pageOf(quiz))));
    const begun = Object.values(answers).filter((each) => each.begun === today()).length;
    return { again, fresh: fresh.slice(0, Math.max(0, NEW - begun)) };
  }

  const status = html("p", { role: "status" });
  const start = html("button", { type: "button", class: "review-button", onclick: begin }, "Begin");
  const all = html("button", { type: "button", class: "review-button", onclick: showAll },
    "Show all questions");
  const forget = html("button", { type: "button", class: "review-button", onclick: reallyForget });
  const panel = html("div", { class: "review-panel" }, status, start, " ", all, " ", forget);
  const verdict = html("p", { role: "status" });
  const next = html("button", { type: "button", class: "review-button", onclick: ask }, "Next");
  const after = html("div", { class: "review-after" }, verdict, next);

  function overview() {
    const { again, fresh } = waiting();
    const count = again.length + fresh.length;
    const upcoming = Object.values(answers).map(({ due }) => due - today());
    const later = upcoming.filter((days) => days > 0);
    if (count)
      status.textContent = `${many(count, "question")} today: ${again.length} to see again,` +
        ` ${fresh.length} new.`;
    else if (later.length)
      status.textContent = `Done for today. ${many(later.length, "question")} to come,` +
        ` the next ${inDays(Math.min(...later))}.`;
    else status.textContent = "There is nothing to ask yet.";
    start.hidden = !count;
    forget.textContent = "Forget my answers";
    forget.hidden = !upcoming.length;
  }

  function show(quiz) {
    asked = quiz;
    for (const section of sections) section.hidden = Boolean(quiz) && !section.contains(quiz);
    for (const each of quizzes) each.hidden = Boolean(quiz) && each !== quiz;
    after.hidden = true;
  }

  function begin() {
    const { again, fresh } = waiting();
    queue = [...again, ...fresh];
    panel.hidden = true;
    ask();
  }

  function ask() {
    const quiz = queue.shift();
    if (!quiz) return rest();
    for (const option of quiz.querySelectorAll("details")) {
      option.open = false;
      const others = quiz.querySelectorAll("details");
      option.before(others[Math.floor(Math.random() * others.length)]);
    }
    show(quiz);
    quiz.after(after);
    const question = quiz.querySelector(".quiz-question");
    question.tabIndex = -1;
    question.focus();
  }

  function rest() {
    for (const section of sections) section.hidden = true;
    after.hidden = true;
    asked = null;
    panel.hidden = false;
    overview();
    (start.hidden ? all : start).focus();
  }

  // The first option that is opened is the answer.
  function answered({ target }) {
    if (!asked?.contains(target) || !target.open || !after.hidden) return;
    const { card } = asked.dataset;
    const before = answers[card] ?? { right: 0, begun: today() };
    const right = target.classList.contains("quiz-right") ? before.right + 1 : 0;
    const days = DAYS[Math.min(Math.max(right, 1), DAYS.length) - 1];
    answers[card] = { ...before, right, due: today() + days };
    verdict.textContent = `This question comes again ${inDays(days)}.${keep()}`;
    next.textContent = queue.length ? `Next (${queue.length} left)` : "Finish";
    after.hidden = false;
  }

  function showAll() {
    panel.hidden = false;
    show(null);
    overview();
  }

  function reallyForget() {
    const sure = "Really forget all answers? Press once more";
    if (forget.textContent !== sure) {
      forget.textContent = sure;
      return;
    }
    for (const card of Object.keys(answers)) delete answers[card];
    keep();
    rest();
  }

  for (const quiz of quizzes) quiz.addEventListener("toggle", answered, true);
  sections[0].before(panel);
  rest();
  document.activeElement?.blur?.();
})();
