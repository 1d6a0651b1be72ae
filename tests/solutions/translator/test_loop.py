"""The loop never waits for a device but where it logs, hands out averaged weights where that is
asked for, and compiles once for each shape.
"""

import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch._dynamo.utils import counters

from solutions.ch08_encoder_decoder import Transformer
from solutions.translator import checkpoints, resuming
from solutions.translator.averaging import MovingAverage
from solutions.translator.checkpoints import BEST, CHECKPOINT, WEIGHTS
from solutions.translator.data.shares import MicroBatch
from solutions.translator.history import HISTORY
from solutions.translator.model import Translator
from solutions.translator.objective import Objective
from solutions.translator.recorded import require_recordable
from solutions.translator.runs import prepare
from solutions.translator.settings import Settings, SettingsError, Shape
from solutions.translator.settings.precision import DTYPES

SIZE = {"d_model": 16, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1, "d_ff": 32}
WORDS = [("one", "uno"), ("two", "due"), ("cat", "gatto"), ("dog", "cane")]
PAIRS = [(f"{a} {b}", f"{x} {y}") for a, x in WORDS for b, y in WORDS] * 4
PAIRS += [(a, x) for a, x in WORDS] * 9
PAIRS += [
    (f"{a} {b} {c}", f"{x} {y} {z}") for a, x in WORDS for b, y in WORDS for c, z in WORDS[:2]
]


def training_of(folder, dropout=0.1, **named):
    settings = {"steps": 12, "tokens": 30, "warmup": 3, "look_every": 4, "schedule": "constant"}
    return prepare(
        folder, PAIRS, PAIRS[:9], Shape(**SIZE, dropout=dropout), Settings(**settings | named)
    )


def weights(folder, name=WEIGHTS):
    return checkpoints.load(folder / name)[0]


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def noted(folder, key="validation_loss"):
    lines = [json.loads(line) for line in (folder / HISTORY).read_text().splitlines()]
    return [line[key] for line in lines if key in line]


# --- no waiting


class Plain(torch.optim.SGD):
    """An optimiser that there is for every device."""

    def __init__(self, model):
        super().__init__(model.parameters(), lr=0.1)


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_no_step_asks_the_device_for_a_number(tmp_path, monkeypatch, ema):
    """On the device "meta" there are no numbers: whoever asks for one, or for how many there are of
    some kind, fails.
    """
    training = training_of(tmp_path, ema=ema, accumulate=2)
    shares = [share for share, _ in zip(training.shares(), range(3), strict=False)]
    training.model.to("meta")
    training.average = MovingAverage(training.model, ema)
    training.optimizer = Plain(training.model)
    monkeypatch.setattr(torch, "autocast", NoAutocast)  # knows no such device
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)
    training.device = torch.device("meta")
    for share in shares:
        total = training.step(share.micro_batches, share.words)
        assert total.device.type == "meta"
    src, target, _ = (each.to("meta") for each in shares[0].micro_batches[0])
    with pytest.raises((RuntimeError, NotImplementedError)):  # without the places of the words
        Objective(training.model, 0.1)(src, target)


class NoAutocast:
    """A context that does nothing."""

    def __init__(self, *arguments, **named):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *trouble):
        pass


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("recorded", [False, True])
def test_no_step_makes_a_gpu_wait(tmp_path, recorded):
    """The same on a GPU itself, with what is left out above: the loader, autocast, AdamW."""
    training = training_of(tmp_path, precision="auto", ema=0.9, shapes=2, recorded=recorded)
    training.settings = replace(training.settings, steps=24)
    for number, share in zip(range(24), training.shares(), strict=False):
        torch.cuda.set_sync_debug_mode("error" if number > 19 else "default")
        try:
            training.step(share.micro_batches, share.words)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert number == 23


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", DTYPES)
def test_a_gpu_learns_in_each_precision(tmp_path, precision):
    training_of(tmp_path, precision=precision, steps=24, tokens=60, look_every=12).run()
    first, last = noted(tmp_path)
    assert last < first


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_recording_learns_what_launched_kernels_learn(tmp_path, precision):
    """Without dropout, because padding is scored, too, and draws its own numbers."""
    found = []
    for recorded in (False, True):
        folder = tmp_path / str(recorded)
        settings = {"precision": precision, "accumulate": 2, "steps": 24, "recorded": recorded}
        training_of(folder, dropout=0.0, **settings).run()
        found.append((noted(folder), weights(folder)))
    (one, plain), (other, replayed) = found
    close = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-2}[precision]
    assert one == pytest.approx(other, rel=close) and one[-1] < one[0]
    assert all(torch.allclose(plain[name], replayed[name], atol=close) for name in plain)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_training_continues_as_if_nothing_had_happened(tmp_path):
    """It records anew, and drops the same numbers."""
    at_once, in_parts = tmp_path / "at_once", tmp_path / "in_parts"
    training_of(at_once, steps=12, recorded=True).run()
    for steps in (8, 12):
        training_of(in_parts, steps=steps, recorded=True).run()
    one, other = weights(at_once), weights(in_parts)
    assert all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_recorded(tmp_path):
    with pytest.raises(SettingsError, match="recorded is for a GPU, and there is none here"):
        training_of(tmp_path, recorded=True)


def test_what_cannot_be_recorded_is_refused():
    for other in ({"compiled": True}, {"recomputed": True}, {"sharded": True}, {"bucketed": False}):
        with pytest.raises(SettingsError, match="leave out one of them"):
            Settings(recorded=True, **other)
    with pytest.raises(ValueError, match="the course's own model"):
        require_recordable(Transformer(9, 9, **SIZE), SimpleNamespace(size=1))
    with pytest.raises(ValueError, match="2 processes train here"):
        require_recordable(Translator(9, 9, **SIZE), SimpleNamespace(size=2))


def test_the_places_of_the_words_change_no_loss():
    torch.manual_seed(0)
    model = Translator(9, 9, **SIZE, dropout=0.0)
    src, target = torch.tensor([[4, 5], [6, 2]]), torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]])
    found = Objective(model, 0.1)(src, target)
    places = torch.tensor([0, 1, 2, 3, 4, 5])
    assert torch.allclose(found, Objective(model, 0.1)(src, target, places))
    assert not torch.allclose(found, Objective(model, 0.1)(src, target, places[:4]))


# --- the moving average


def test_the_average_is_what_its_formula_says(tmp_path):
    training, share = training_of(tmp_path, ema=0.75), 0.75
    step, seen = training.step, []

    def watched(*arguments):
        result = step(*arguments)
        seen.append({name: each.clone() for name, each in training.model.named_parameters()})
        return result

    training.step = watched
    training.run()
    wanted = seen[0]
    for latest in seen[1:]:
        wanted = {name: share * each + (1 - share) * latest[name] for name, each in wanted.items()}
    finished = weights(tmp_path)
    for name, each in wanted.items():
        assert torch.allclose(finished[f"model.{name}"], each, atol=1e-6)
        assert not torch.equal(finished[f"model.{name}"], seen[-1][name])


def test_the_average_is_what_is_evaluated_and_kept_as_the_best(tmp_path, monkeypatch):
    training, evaluated = training_of(tmp_path, ema=0.5), []
    samples = training.samples
    training.samples = lambda model: evaluated.append(model) or samples(model)
    loss = training.run()
    assert len(evaluated) == 3 and all(each is training.average.model for each in evaluated)
    assert equal(weights(tmp_path), checkpoints.weights_of(training.average.model))
    assert loss == noted(tmp_path)[-1] == min(noted(tmp_path))
    assert equal(weights(tmp_path), weights(tmp_path, BEST))
    training.average = MovingAverage(training.model, 0)
    assert training.validation_loss() != loss


def test_the_average_goes_on_to_the_bit(tmp_path):
    training_of(tmp_path / "one", ema=0.9).run()
    training_of(tmp_path / "two", ema=0.9, steps=4).run()
    training = training_of(tmp_path / "two", ema=0.9)
    resuming.resume(training)
    assert not equal(
        checkpoints.weights_of(training.model), checkpoints.weights_of(training.average.model)
    )
    training_of(tmp_path / "two", ema=0.9).run()
    for name in (WEIGHTS, CHECKPOINT):
        assert equal(weights(tmp_path / "one", name), weights(tmp_path / "two", name))


def test_without_an_average_it_is_the_model_itself():
    model = Translator(9, 9, **SIZE)
    average = MovingAverage(model, 0)
    average.update()
    assert average.model is model and average.weights() == {}


@pytest.mark.parametrize("tied", [True, "all"])
def test_shared_weights_stay_shared_in_the_average(tied):
    model = Translator(9, 9, **SIZE, tied=tied)
    average = MovingAverage(model, 0.5)
    assert average.model.generator.weight is average.model.tgt_embedding.weight
    first = model.generator.weight.detach().clone()
    for _ in range(2):
        average.update()
        with torch.no_grad():
            model.generator.weight += 1
    assert torch.allclose(average.model.generator.weight, first + 0.5, atol=1e-6)


# --- memory


def kept_by(training):
    """Return how many bytes the forward pass of a batch keeps for the backward pass, its loss, and
    its gradients.
    """
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    torch.manual_seed(7)
    (micro_batch,) = next(training.shares()).micro_batches
    training.model.train()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = training.objective(*micro_batch)
    loss.backward()
    return sum(kept.values()), loss, [each.grad for each in training.model.parameters()]


def test_layers_that_are_computed_again_keep_less_and_give_the_same_gradients(tmp_path):
    """Dropout, too: the same numbers are dropped the second time."""
    more, less = (
        kept_by(training_of(tmp_path, dropout=0.3, tokens=400, recomputed=recomputed))
        for recomputed in (False, True)
    )
    assert less[0] < 0.7 * more[0]
    assert torch.equal(less[1], more[1])
    assert all(torch.allclose(*pair) for pair in zip(less[2], more[2], strict=True))


def test_a_model_of_one_s_own_computes_nothing_again(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("from solutions.ch08_encoder_decoder import Transformer\n")
    with pytest.raises(ValueError, match="recomputed is for the course's own model"):
        settings = Settings(steps=1, recomputed=True)
        prepare(tmp_path, PAIRS, PAIRS[:9], Shape(**SIZE), settings, model_path=own)


# --- compiling


def frames():
    return counters["frames"]["ok"]


@pytest.fixture(params=["aot_eager", pytest.param("inductor", marks=pytest.mark.long)])
def backend(request, monkeypatch):
    """What makes code of what is compiled: the first makes none, which takes no time, and is given
    the same graphs as the second.
    """
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=request.param))
    torch._dynamo.reset()
    counters.clear()


@pytest.mark.parametrize("kind", [Translator, pytest.param(Transformer, marks=pytest.mark.long)])
def test_nothing_is_compiled_after_the_first_epoch(kind, tmp_path, backend):
    training = training_of(tmp_path, dropout=0.1, shapes=2, compiled=True)
    model = kind(9, 9, **SIZE, dropout=0.1)
    training.objective = Objective(model, 0.1, shapes=2)
    training.model = model
    shares, epochs, seen = iter(training.batches.epoch(0)), 3, []
    assert len({training.batches.shape(each) for each in shares}) == 2
    training.settings = Settings(**training.settings.__dict__ | {"steps": None, "minutes": 9.0})
    for share in training.shares():
        if share.epoch == epochs:
            break
        training.step(share.micro_batches, share.words)
        if share.position + 1 == len(training.batches.epoch(share.epoch)):
            stats = counters["stats"]
            seen.append((stats["unique_graphs"], stats["calls_captured"], frames()))
    assert len(seen) == epochs and seen[0][0] == 2 and len(set(seen)) == 1, seen
    assert not counters["graph_break"]


def test_what_is_compiled_gives_the_same_loss_and_gradients(backend):
    torch.manual_seed(0)
    model = Translator(9, 9, **SIZE, dropout=0.0)
    src, target = torch.tensor([[4, 5], [6, 2]]), torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]])
    batch = MicroBatch(src, target, torch.arange(6))
    found = []
    for shapes in (0, 1):
        model.zero_grad()
        loss = Objective(model, 0.1, shapes)(*batch)
        loss.backward()
        found.append([loss.detach(), *(each.grad.clone() for each in model.parameters())])
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
