// In a notebook an explorer shows what the learner's own function returns. Python calls it
// (book/widgets/driven.py); this asks, one question at a time, and says in words where the function
// stopped, or where its numbers part from the formula's.
const { html, italian, said, whenUsed } = globalThis.explorerKit;
const TOLERANCE = 1e-4; // relative to a number above 1; float32 rounds by less
const PATIENCE = 500; // milliseconds until a missing answer is mentioned

const weightsDiffer = "Your weights differ from the formula’s, first";
const weightsAgree = "Your weights agree with the formula’s.";

// For each explorer the numbers that are compared, in this order, and how a first difference is
// told from its place.
const TOLD = {
  attention: {
    scores: ([key], { words }) =>
      `Your scores differ from the formula’s, first for the key “${words[key]}”.`,
    weights: ([key], { words }) => `${weightsDiffer} for the key “${words[key]}”.`,
    output: () => `${weightsAgree} Your output is not the average of the values under them.`,
  },
  positions: {
    first: ([column], { position }) =>
      `Your encoding of position ${position} differs from the formula’s, first in column ` +
      `${column}.`,
    second: ([column], { position, offset }) => TOLD.positions.first([column],
      { position: position + offset }),
    curve: () =>
      "Here your numbers agree with the formula’s. Further on, at other positions, they do not.",
  },
  heads: {
    maps: ([head, key], { sentences, sentence }) =>
      `${weightsDiffer} in head ${head}, for “${sentences[sentence].words[key]}”.`,
    logits: () => `${weightsAgree} What your heads return together does not.`,
  },
  masking: {
    mask: (place, { words, preset }) =>
      said`Your mask “${preset}” differs from the book’s, first at
        ${cell("query", "key", place, words)}.`,
    weights: (place, { words }) => said`${weightsDiffer} at ${cell("query", "key", place, words)}.`,
    gradients: (place, { words }) => said`${weightsAgree} Your gradients do not, first at
      ${cell("output", "input", place, words)}.`,
  },
  lookup: {
    ids: ([place]) => `Your ids differ from the vocabulary’s, first at word ${place + 1}.`,
    oneHot: ([place]) =>
      `Your one-hot vectors differ from those of these ids, first at position ${place}.`,
    product: ([place, column]) => "Your embeddings differ from the rows of the table, first at " +
      `position ${place}, column ${column}.`,
  },
  copying: {
    weights: ([query, key]) =>
      `${weightsDiffer} at written word ${query + 1}, read word ${key + 1}.`,
    written: ([place]) =>
      `${weightsAgree} Your contexts do not: the copies differ from word ${place + 1} on.`,
  },
  layernorm: {
    result: ([feature]) =>
      `Your result differs from the formula’s, first at feature ${feature + 1}.`,
  },
  beam: {
    alive: ([step, place]) => {
      if (place === undefined) return "Your search takes another number of steps than the book’s.";
      if (step === 0) return "Your search does not begin with <bos> alone, once.";
      return `What your search keeps alive differs from the book’s, first after step ${step}.`;
    },
    score: () => "Your search keeps alive what the book’s does. What it returns is not the " +
      "sentence with the highest score.",
  },
  decoding: {
    chosen: ([step]) =>
      `What your function writes parts from greedy decoding at step ${step + 1}.`,
  },
};

// A cell of a table of words: what is at its row and its column.
const cell = (row, column, [i, j], words) =>
  said`${row} ${italian(`“${words[i]}”`)}, ${column} ${italian(`“${words[j]}”`)}`;

// Returns where two numbers, or lists of lists of numbers, first differ by more than rounding, as
// indices; null if nowhere.
function parting(own, yours) {
  if (!Array.isArray(own))
    return Math.abs(own - yours) > TOLERANCE * Math.max(1, Math.abs(own)) ? [] : null;
  for (let i = 0; i < Math.max(own.length, yours.length); i += 1) {
    const rest = i < Math.min(own.length, yours.length) ? parting(own[i], yours[i]) : [];
    if (rest) return [i, ...rest];
  }
  return null;
}

// Says where what the function returned first parts from the explorer's own arithmetic; nothing if
// nowhere.
function difference(name, model, { inputs, numbers }) {
  const own = globalThis.explorers[name].outcome(model, inputs);
  for (const [key, told] of Object.entries(TOLD[name])) {
    const place = key in numbers ? parting(own[key], numbers[key]) : null;
    const known = { words: model.get("words"), sentences: model.get("sentences"), ...inputs };
    if (place) return [" ", told(place, known)].flat();
  }
  return [];
}

// An explorer as anywidget wants it, driven by a function of Python.
function driven(name) {
  function render({ model, el }) {
    const remark = html("p", { class: "explorer-remark" });
    const stopWaiting = whenUsed(el, () => remark.setAttribute("role", "status"));
    el.classList.add("explorer");
    // JupyterLab takes the arrow keys from a slider, unless the very element that has the focus
    // asks it not to.
    const keepKeys = (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true");
    el.addEventListener("focusin", keepKeys);
    el.append(remark);

    // What the script sees as its model: also what nobody moves; and saving is asking.
    const fixed = model.get("fixed");
    const seen = {
      get: (key) => fixed[key] ?? model.get(key),
      set: (key, value) => model.set(key, value),
      on: (event, listener) => model.on(event, listener),
      off: (event, listener) => model.off(event, listener),
      save_changes: ask,
    };

    let later = false; // the state has changed since the question that is under way
    let timer;
    const underWay = () => model.get("asked") !== model.get("computed").number;
    function ask() {
      later = underWay();
      if (later) return;
      model.set("asked", model.get("asked") + 1);
      model.save_changes(); // sends all that was set since the last time
      const waiting = "Waiting for your function. Is another cell still running?";
      timer = setTimeout(() => tell(waiting), PATIENCE);
    }
    function tell(...sentence) {
      const told = html("p", {}, ...sentence);
      if (remark.textContent !== told.textContent) remark.replaceChildren(...told.childNodes);
    }
    function answered() {
      const computed = model.get("computed");
      if (!underWay()) {
        clearTimeout(timer);
        if (later) ask();
      }
      el.classList.toggle("explorer-stopped", "problem" in computed);
      if (computed.problem !== undefined) tell(computed.problem);
      else {
        const shown = `Shown is what your ${model.get("yours")} returns.`;
        tell(shown, ...difference(name, seen, computed));
      }
    }

    const stop = globalThis.explorers[name].render({ model: seen, el });
    model.on("change:computed", answered);
    answered();
    return () => {
      clearTimeout(timer);
      model.off("change:computed", answered);
      el.removeEventListener("focusin", keepKeys);
      stopWaiting();
      stop();
    };
  }
  return { render };
}
