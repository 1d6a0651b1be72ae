// An exchange (the first page): for each place of a sentence the reader chooses of which of two
// sentences the decoder gets the encoder's vector, and sees what it writes then. All translations
// come with the state, as book/experiments/exchanges.py says.
(() => {
  const { html, chips, button, figure, italian, said, listed, counted, mount } =
    globalThis.explorerKit;
  const start = { taken: 0 }; // the places of the second sentence: place i counts 2 ** i

  const isTaken = (taken, place) => (taken >> place) & 1;

  // The name of a word of a sentence: “your”, or the first “cat” where there are two.
  function named(words, place) {
    const equal = [...words.keys()].filter((i) => words[i] === words[place]);
    const nth = equal.length < 2 ? "" : ["the first ", "the second "][equal.indexOf(place)];
    return `${nth}“${words[place]}”`;
  }

  // Of which sentence's translation a written word is: 0 or 1; null where both have it, or none.
  function origin(word, place, translations) {
    const found = translations.map((words) => words[place] === word);
    return found[0] === found[1] ? null : Number(found[1]);
  }

  function build({ model, choose, verdict, say }) {
    const [sentences, outcomes, names] = ["sentences", "outcomes", "names"].map((name) =>
      model.get(name));
    const all = outcomes.length - 1;
    const translations = [outcomes[0].words, outcomes[all].words];
    const whole = ["exchange-first", "exchange-second"];

    const columns = sentences[0].map((_, place) => {
      const labels = sentences.map((words, from) => [words[place],
        html("span", { class: "explorer-hidden" }, ` of the ${names[from]}’s sentence`)]);
      const { inputs, all: radios } = chips(labels, (from) => {
        const taken = model.get("taken");
        choose({ taken: from ? taken | (1 << place) : taken & ~(1 << place) });
      });
      radios.forEach((radio, from) => radio.classList.add(whole[from]));
      const column = html("div", { class: "exchange-column", role: "radiogroup",
        "aria-label": `Vector ${place + 1}` }, ...radios);
      return { inputs, column };
    });
    const rows = names.map((name, from) =>
      button(`all of the ${name}’s`, () => choose({ taken: from ? all : 0 }), whole[from]));
    const picked = html("div", { class: "exchange-columns" },
      ...columns.map(({ column }) => column));
    const written = html("div", { class: "exchange-written" });

    function update({ taken }) {
      columns.forEach(({ inputs }, place) => { inputs[isTaken(taken, place)].checked = true; });
      const { words, percents } = outcomes[taken];
      written.replaceChildren(...words.map((word, place) => {
        const from = origin(word, place, translations);
        const share = percents[place] > 99.9 ? "> 99.9" : percents[place].toFixed(1);
        return html("span", { class: `exchange-word ${whole[from] ?? ""}` }, italian(word),
          html("small", {}, `${share} %`));
      }));
      const places = [...columns.keys()].filter((place) => isTaken(taken, place));
      const which = places.length === 0 ? [`All vectors are of the ${names[0]}’s sentence`]
        : places.length === columns.length ? [`All vectors are of the ${names[1]}’s sentence`]
          : places.length > 3 ? [`${counted(places.length, "vector")} of the ${names[1]}’s sentence`]
            : [...listed(places.map((place, i) => (i ? named(sentences[1], place)
              : named(sentences[1], place).replace(/^t/, "T")))), ` of the ${names[1]}’s sentence`];
      say(said`${which}: the decoder writes ${italian(`“${words.join(" ")}”`)}.`);
    }

    const given = figure("The vectors that the decoder gets: choose one for each place", picked);
    const outcome = figure("What it writes, and how likely each word was", written);
    const legend = html("p", { class: "explorer-note" }, `Single line: as in the ${names[0]}’s ` +
      `translation. Double green line: as in the ${names[1]}’s.`);
    const both = html("div", { class: "explorer-buttons" }, ...rows);
    return { update, children: [given, both, outcome, legend, verdict] };
  }

  mount("exchange", { start, origin, build });
})();
