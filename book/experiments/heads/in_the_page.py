"""The trained models that the page of chapter 12 asks: of the translators that its experiments
train, that of seed 0, and likewise of the models in which induction heads form.

    python -m book.experiments.heads.in_the_page

writes both to `book/measured`, with a byte for each parameter, because the translator has 1.6
million. What the page computes, it computes with these rounded parameters.
"""

import json

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from book.experiments.heads import induction
from book.experiments.heads.translators import trained
from book.experiments.measurements import FOLDER
from book.experiments.undisturbed import undisturbed
from solutions.ch08_encoder_decoder import Transformer

STEPS = 1500  # of the translator
PLACES = {name: FOLDER / f"{name}.safetensors" for name in ("translator", "induction")}
SCALE = ".scale"


def translator():
    """Return a Transformer that translates, and the words of both vocabularies, by their ids."""
    tensors, known = load(PLACES["translator"])
    model = Transformer(len(known["english"]), len(known["italian"]), **known["shape"]).eval()
    model.load_state_dict(tensors)
    return model.requires_grad_(False), known["english"], known["italian"]


def repeater():
    """Return an AttentionOnly that continues texts which repeat themselves."""
    model = induction.AttentionOnly()
    model.load_state_dict(load(PLACES["induction"])[0])
    return model.requires_grad_(False)


def save(path, tensors, **known):
    """Write tensors, each number as one of 255 steps up to the largest of its row.

    Args:
        known: what else a reader needs; JSON can hold it.
    """
    written = {}
    for name, tensor in tensors.items():
        step = tensor.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
        written[name] = (tensor / step).round().to(torch.int8)
        written[name + SCALE] = step
    save_file(written, path, metadata={"known": json.dumps(known)})


def load(path):
    """Return dict: name -> float32 tensor, and what else was written."""
    with safe_open(path, "pt") as file:
        known = json.loads(file.metadata()["known"])
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    names = [name for name in found if not name.endswith(SCALE)]
    return {name: found[name] * found[name + SCALE] for name in names}, known


def main():
    """Train both models, where that was not done before, and write them."""
    run, model = trained(STEPS, 0)
    shape = {name: value for name, value in run.shape.__dict__.items() if name != "tied"}
    words = {
        name: [side.token(number) for number in range(side.vocab_size)]
        for name, side in (("english", run.source), ("italian", run.target))
    }
    save(PLACES["translator"], model.state_dict(), shape=shape, **words)
    with undisturbed():
        save(PLACES["induction"], induction.trained(induction.STEPS, 0).state_dict())


if __name__ == "__main__":
    main()
