// Trained models that run in a page: where their files are, and the runtime for their ONNX graphs,
// which is fetched when a reader asks for a model and not before. It comes before the explorers that
// run one, once for a page.
globalThis.running ??= (() => {
  // of the page's static files
  const BASE = document.currentScript ? new URL(".", document.currentScript.src) : null;
  const FETCHING = "Fetching the model: some megabytes, once.";

  // A folder of models: `about`, what a JSON file there holds, and `graph`, which makes a session of
  // an ONNX file.
  async function open(folder, file) {
    const stop = (why) => { throw new Error(why); };
    if (typeof WebAssembly !== "object")
      stop("This browser runs no WebAssembly, which the model needs.");
    if (!BASE || BASE.protocol === "file:")
      stop("A page that was opened as a file cannot fetch the model: type “python -m http.server” " +
        "in the book’s folder, and open http://localhost:8000.");
    const place = new URL(folder, BASE);
    const answer = await fetch(new URL(file, place)).catch(() =>
      stop("The model could not be fetched: are you offline?"));
    if (!answer.ok) stop("This copy of the book was built without the model.");
    const about = await answer.json();
    const ort = await import(new URL("vendor/onnxruntime/ort.wasm.min.mjs", BASE)).catch(() =>
      stop("What runs the model could not be fetched: are you offline?"));
    ort.env.wasm.wasmPaths = new URL("vendor/onnxruntime/", BASE).href;
    ort.env.wasm.numThreads = 1;
    const graph = (name) => ort.InferenceSession.create(new URL(name, place).href);
    return { ort, about, graph };
  }

  // A function that calls `make` when it is first called, and again only where that failed.
  function once(make) {
    let made;
    return () => {
      made ??= make().catch((error) => {
        made = undefined;
        throw error;
      });
      return made;
    };
  }

  // One of chapter 13's language models (solutions/family/export_onnx.py makes its files): its
  // `words`, `ids` and `longest`, and `score`, which takes ids and gives a row of logits for each.
  const languageModel = (name) => once(async () => {
    const { ort, about, graph } = await open("family-models/", `${name}.json`);
    const session = await graph(`${name}.onnx`);
    async function score(ids) {
      const row = new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]);
      const { logits: { data, dims: [length, width] } } = await session.run({ token_ids: row });
      return Array.from({ length }, (_, i) => Array.from(data.subarray(i * width, (i + 1) * width)));
    }
    const ids = new Map(about.words.map((word, id) => [word, id]));
    return { words: about.words, longest: about.max_len, ids, score };
  });

  return { FETCHING, open, once, languageModel };
})();
