// Brings the explorers of a published page to life. Each explorer's script has registered a render
// function under its name; here it gets an element to draw in and a model that holds its state, the
// part that a kernel plays in a notebook.

class PageModel {
  constructor(state) {
    this.state = state;
    this.listeners = {};
  }
  get(key) {
    return this.state[key];
  }
  set(key, value) {
    this.state[key] = value;
    for (const listener of this.listeners[`change:${key}`] ?? []) listener();
  }
  on(event, listener) {
    (this.listeners[event] ??= []).push(listener);
  }
  off(event, listener) {
    this.listeners[event] = (this.listeners[event] ?? []).filter((other) => other !== listener);
  }
  save_changes() {}
}

document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".explorer[data-explorer]")) {
    const { explorer, state } = element.dataset;
    const definition = globalThis.explorers?.[explorer];
    if (!definition) {
      element.textContent = `The explorer “${explorer}” did not load.`;
      continue;
    }
    definition.render({ model: new PageModel(JSON.parse(state)), el: element });
  }
});
