"""A trained translator as files that a browser can run: two ONNX graphs and the words.

`encoder.onnx` reads the source once; `step.onnx` says, for what has been written so far, how likely
each next word is and where every head of the cross-attention looked. Greedy decoding between the
two is a loop of a few lines, in any language. `words.json` holds the vocabularies, where a word's
place in the list is its id, and how long a translation may get: `factor` ids for each of the source
and `extra` more, `<bos>` counted.

    python -m solutions.translator.export_onnx --from work/translator --into some/folder
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from solutions.translator.data.tokenizer import BOS, EOS, SPECIALS
from solutions.translator.decoding import EXTRA, FACTOR, translate_ids
from solutions.translator.measure.attention_map import cross_attention
from solutions.translator.runs import FinishedRun

ENCODER, STEP, WORDS = "encoder.onnx", "step.onnx", "words.json"


class Encoder(nn.Module):
    """Read a source: src (1, src_len) int64 -> memory (1, src_len, d_model)."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, src):
        return self.model.encode(src)


class Step(nn.Module):
    """Say what comes next: tgt (1, tgt_len) int64, memory, src -> logits (tgt_vocab_size,), weights
    (layers, heads, src_len).

    Args:
        model: a contract's Transformer whose attention modules take `need_weights`.
    """

    def __init__(self, model):
        super().__init__()
        # of the layers in their order; not an attribute, which may not change in an exported graph
        seen = []

        def ask_for_weights(module, arguments, named):
            return arguments, {**named, "need_weights": True}

        def keep(module, arguments, result):
            seen.append(result[1][0, :, -1])  # (heads, src_len)

        for layer in model.decoder:
            layer.cross_attention.register_forward_pre_hook(ask_for_weights, with_kwargs=True)
            layer.cross_attention.register_forward_hook(keep)
        self.model, self.forget, self.weights = model, seen.clear, lambda: torch.stack(seen)

    def forward(self, tgt, memory, src):
        self.forget()
        hidden = self.model.decode(tgt, memory, src)
        return self.model.generator(hidden[0, -1]), self.weights()


def export(run, folder):
    """Write a run's model and words for a browser.

    Args:
        run: FinishedRun of the course's own model, with whole words.
        folder: gets the three files.

    Raises:
        ValueError: if the run has byte pairs, which a page would have to take apart as `tokenizers`
            does.
        RunError: if it has a model of somebody's own.
    """
    if run.source.kind != "words":
        raise ValueError(
            "a page can show a translator of whole words; this one has byte pairs: train with"
            " --vocab 0"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = run.plain_model().to("cpu")
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[BOS, 4]])
    with torch.no_grad():
        memory = model.encode(src)
    src_len, tgt_len = torch.export.Dim("src_len"), torch.export.Dim("tgt_len")
    graph(Encoder(model), (src,), ({1: src_len},), ["src"], ["memory"]).save(folder / ENCODER)
    shapes = ({1: tgt_len}, {1: src_len}, {1: src_len})
    names = ["tgt", "memory", "src"], ["logits", "weights"]
    graph(Step(model), (tgt, memory, src), shapes, *names).save(folder / STEP)
    about = {side: words_of(getattr(run, side)) for side in ("source", "target")}
    about |= {"factor": FACTOR, "extra": EXTRA}
    (folder / WORDS).write_text(
        json.dumps(about, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )


def graph(module, inputs, shapes, input_names, output_names):
    """Return a module as an ONNX program."""
    with torch.no_grad():
        return torch.onnx.export(
            module.eval(),
            inputs,
            dynamo=True,
            verbose=False,
            input_names=input_names,
            output_names=output_names,
            dynamic_shapes=shapes,
        )


def words_of(tokenizer):
    """Return a tokenizer's words in the order of their ids."""
    return [tokenizer.token(number) for number in range(tokenizer.vocab_size)]


def example(run, sentence):
    """Translate a sentence, and keep where the decoder looked, for a page to show before it has the
    model.

    Returns:
        dict: `source` and `written`, lists of words, the latter with "<eos>"; `weights`, lists
            (step, layer, head, source word).
    """
    source = run.source.encode([sentence])[0]
    written = translate_ids(run.model, [source])[0]
    weights = cross_attention(
        run.plain_model().to("cpu"), source, written
    )  # (layers, heads, steps, src_len)
    return {
        "source": run.source.tokens(sentence),
        "written": [*map(run.target.token, written), SPECIALS[EOS]],
        "weights": weights.astype(float).transpose(2, 0, 1, 3).round(3).tolist(),
    }


class Exported:
    """The exported files, run by onnxruntime as a browser runs them; for tests and measurements.

    Args:
        folder: as `export` filled it.
    """

    def __init__(self, folder):
        import onnxruntime

        folder = Path(folder)
        self.encoder, self.step = (
            onnxruntime.InferenceSession(folder / name) for name in (ENCODER, STEP)
        )
        self.about = json.loads((folder / WORDS).read_text(encoding="utf-8"))

    def translate(self, source):
        """Translate a list of ids greedily; return ids without special ones, and the weights of
        each step.
        """
        src, written, looks = np.array([source]), [BOS], []
        (memory,) = self.encoder.run(None, {"src": src})
        while len(written) < int(self.about["factor"] * len(source)) + self.about["extra"]:
            logits, weights = self.step.run(
                None, {"tgt": np.array([written]), "memory": memory, "src": src}
            )
            looks.append(weights)
            written.append(int(logits.argmax()))
            if written[-1] == EOS:
                return written[1:-1], looks
        return written[1:], looks


def main():
    """Export a run."""
    parser = argparse.ArgumentParser(
        prog="python -m solutions.translator.export_onnx", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--from", dest="run", type=Path, required=True, help="folder of a finished run"
    )
    parser.add_argument("--into", type=Path, help="folder for the files")
    parser.add_argument(
        "--example", metavar="SENTENCE", help="print its translation, with the weights, as JSON"
    )
    options = parser.parse_args()
    try:
        run = FinishedRun(options.run, "cpu")
        if options.into:
            export(run, options.into)
        if options.example:
            print(json.dumps(example(run, options.example), ensure_ascii=False))
    except (ValueError, RuntimeError) as error:
        print(f"translator: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
