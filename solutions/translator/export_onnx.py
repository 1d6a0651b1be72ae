"""A trained translator as files that a browser can run: two ONNX graphs and the words.

`start.onnx` reads the source once, and computes the keys and values that the decoder will ask for.
`step.onnx` is given the words that are new and the keys and values of those before, and says how
likely each next word is, where every head of the cross-attention looked, and the longer keys and
values. Greedy decoding between the two is a loop of a few lines, in any language. A decoder without
a cache is the same loop with all words as new ones and nothing before them.

Both graphs take a gate for each head, a number by which they multiply what the head found before
`w_o`: 1 leaves the head as it is, and 0 switches it off.

`words.json` holds the vocabularies, where a word's place in the list is its id, the shape of the
model, and how long a translation may get: `factor` ids for each of the source and `extra` more,
`<bos>` counted.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import onnx
import torch
import tyro
from torch import nn
from tyro.conf import arg

from solutions.ch06_masking import masked_attention
from solutions.ch08_encoder_decoder import sinusoidal_positions
from solutions.ch11_efficiency import cached_attention
from solutions.translator.data.tokenizer import BOS, EOS, SPECIALS
from solutions.translator.decoding import EXTRA, FACTOR, translate_ids
from solutions.translator.measure.attention_map import cross_attention
from solutions.translator.model import heads_of, merged, normalised, projected
from solutions.translator.runs import FinishedRun
from solutions.translator.settings.fields import SettingsError, check, path, text

START, STEP, WORDS = "start.onnx", "step.onnx", "words.json"
# of a Shape, for what counts the work in a page
SHAPE = "d_model", "num_heads", "num_encoder_layers", "num_decoder_layers", "d_ff"


class Start(nn.Module):
    """Read a source, and compute what the decoder will ask for.

    Args:
        model: chapter 8's Transformer.
    """

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, src, gates):
        """Read a source without padding.

        Args:
            src: (1, src_len) int64.
            gates: (encoder layers, heads).

        Returns:
            keys, values: (decoder layers, heads, src_len, head_dim) of the cross-attentions.
        """
        model = self.model
        x = model.embed(src, model.src_embedding)
        for layer, layer_gates in zip(model.encoder, gates, strict=True):

            def look_around(x, attention=layer.self_attention, gates=layer_gates):
                output, _ = masked_attention(*asked(attention, x, "w_q", "w_k", "w_v"))
                return mixed(attention, output, gates)

            x = residual(layer, layer.norm_1, x, look_around)
            x = residual(layer, layer.norm_2, x, layer.feed_forward)
        memory = normalised(model.encoder_norm, x) if model.norm_first else x
        pairs = [asked(layer.cross_attention, memory, "w_k", "w_v") for layer in model.decoder]
        keys, values = (torch.cat(each) for each in zip(*pairs, strict=True))
        return keys, values


class Step(nn.Module):
    """Say what comes next, given the words that are new and what is known of those before.

    Args:
        model: chapter 8's Transformer.
    """

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tgt, keys, values, memory_keys, memory_values, self_gates, cross_gates):
        """Continue a target.

        Args:
            tgt: (1, new) int64: words that have no keys and values yet, at least one.
            keys, values: (decoder layers, heads, length, head_dim) of the words before, of which
                there may be none.
            memory_keys, memory_values: of the source, as Start returns them.
            self_gates, cross_gates: (decoder layers, heads).

        Returns:
            logits: (tgt_vocab_size,) of the word after the last one.
            weights: (decoder layers, heads, src_len): where that word's cross-attention looked.
            keys, values: (decoder layers, heads, length + new, head_dim).
        """
        model, seen, caches = self.model, [], []
        x = self.embedded(tgt, since=keys.shape[2])
        for number, layer in enumerate(model.decoder):
            one = slice(number, number + 1)  # keeps the axis, which serves as that of the batch
            cache, memory = (keys[one], values[one]), (memory_keys[one], memory_values[one])

            def look_back(x, attention=layer.self_attention, cache=cache, gates=self_gates[number]):
                new = asked(attention, x, "w_q", "w_k", "w_v")
                output, longer = cached_attention(*new, cache)
                caches.append(longer)
                return mixed(attention, output, gates)

            def look_across(
                x, attention=layer.cross_attention, memory=memory, gates=cross_gates[number]
            ):
                output, weights = masked_attention(*asked(attention, x, "w_q"), *memory)
                seen.append(weights[0, :, -1])  # (heads, src_len)
                return mixed(attention, output, gates)

            x = residual(layer, layer.norm_1, x, look_back)
            x = residual(layer, layer.norm_2, x, look_across)
            x = residual(layer, layer.norm_3, x, layer.feed_forward)
        last = x[0, -1]
        logits = model.generator(normalised(model.decoder_norm, last) if model.norm_first else last)
        return logits, torch.stack(seen), *(torch.cat(each) for each in zip(*caches, strict=True))

    def embedded(self, tgt, since):
        """Look the words up, and add where they are, beginning at position `since`."""
        x = self.model.tgt_embedding(tgt) * self.model.d_model**0.5  # (1, new, d_model)
        positions = sinusoidal_positions(since + tgt.shape[1], self.model.d_model)
        return x + positions[since:]


def asked(attention, x, *names):
    """Return what an attention's projections of these names make of its input, split into heads."""
    return [heads_of(each, attention.num_heads) for each in projected(x, attention, *names)]


def mixed(attention, output, gates):
    """Mix what the heads found, (1, heads, seq_len, head_dim), each multiplied by its gate."""
    return attention.w_o(merged(output * gates[:, None, None]))


def residual(layer, norm, x, sublayer):
    """Add `sublayer(x)` to `x`, normalised before or after."""
    if layer.norm_first:
        return x + sublayer(normalised(norm, x))
    return normalised(norm, x + sublayer(x))


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
    model, shape = run.plain_model().to("cpu"), run.shape
    onnx.save(start_graph(model, shape), folder / START)
    onnx.save(step_graph(model, shape), folder / STEP)
    about = {side: words_of(getattr(run, side)) for side in ("source", "target")}
    about["shape"] = {name: getattr(shape, name) for name in SHAPE}
    about |= {"factor": FACTOR, "extra": EXTRA}
    (folder / WORDS).write_text(
        json.dumps(about, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )


def start_graph(model, shape):
    """Return the ONNX model of Start, for a source of any length."""
    inputs = {"src": torch.tensor([[4, 5, 6]])}
    inputs["gates"] = torch.ones(shape.num_encoder_layers, shape.num_heads)
    axes = {1: torch.export.Dim("src_len")}, {}
    return graph(Start(model), inputs, axes, ("memory_keys", "memory_values"))


def step_graph(model, shape):
    """Return the ONNX model of Step, for any number of new words after any number of others."""
    layers, heads = shape.num_decoder_layers, shape.num_heads
    before, memory = (torch.zeros(layers, heads, n, shape.d_model // heads) for n in (5, 3))
    gates = torch.ones(layers, heads)
    inputs = {"tgt": torch.tensor([[BOS, 4]]), "keys": before, "values": before}
    inputs |= {"memory_keys": memory, "memory_values": memory}
    inputs |= {"self_gates": gates, "cross_gates": gates}
    new, length, src_len = (torch.export.Dim(name) for name in ("new", "length", "src_len"))
    axes = {1: new}, {2: length}, {2: length}, {2: src_len}, {2: src_len}, {}, {}
    outputs = "logits", "weights", "longer_keys", "longer_values"
    return graph(Step(model), inputs, axes, outputs)


def graph(module, inputs, axes, outputs):
    """Return a module as an ONNX model, without what the exporter notes for its own authors: stack
    traces, with the paths of the machine that made them.

    Args:
        inputs: dict of tensors, in the order in which the module takes them.
        axes: for each of them the axes that may have any length, by their numbers.
        outputs: names.
    """
    with torch.no_grad():
        program = torch.onnx.export(
            module.eval(),
            # one tensor that is given twice would be taken for one input
            tuple(each.clone() for each in inputs.values()),
            dynamo=True,
            verbose=False,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=axes,
        )
    model = program.model_proto
    for each in (model, model.graph, *model.graph.node, *model.graph.initializer):
        del each.metadata_props[:]
    del model.graph.value_info[:]
    return model


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


@dataclass(frozen=True)
class Export:
    """Write a trained translator as files that a browser can run.

    Args:
        run: folder of a finished run.
        into: folder for the files.
        example: a sentence: print its translation, with the weights, as JSON.
    """

    run: Annotated[Path, path("FOLDER"), arg(name="from")]
    into: Annotated[Path | None, path("FOLDER")] = None
    example: Annotated[str | None, text()] = None

    def __post_init__(self):
        check(self)
        if self.into is None and self.example is None:
            raise SettingsError("nothing is asked for; give --into, --example, or both")


def main(arguments=None):
    """Export a run."""
    options = tyro.cli(Export, prog="python -m solutions.translator.export_onnx", args=arguments)
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
