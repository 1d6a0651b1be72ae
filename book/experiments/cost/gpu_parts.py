"""What `book.experiments.cost.on_a_gpu` measures, part by part. A part is called with a device and
a Budget, and returns what JSON can hold. On a CPU nothing is recorded, and no memory is counted.
"""

import gc
import itertools
from dataclasses import asdict, dataclass, replace
from functools import partial

import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from book.experiments.cost import gpu_predictions
from book.experiments.cost.gpu_predictions import BASE, Sizes, seconds
from book.experiments.cost.training_cost import product_intensity
from solutions.translator.decoding import Cached
from solutions.translator.measure import bench, ways
from solutions.translator.model import Translator
from solutions.translator.objective import Objective
from solutions.translator.settings import Shape
from solutions.translator.settings.precision import DTYPES, float32_products_in, products_in


@dataclass(frozen=True)
class Budget:
    """How much is measured; a small one is for trying the program.

    Args:
        sizes: of what the pages predict.
        words: that are multiplied with a square weight matrix.
        sentences: of the batches of the bench's model.
        compiled: of those that torch.compile makes code for, too.
        base: sentences of the batches of the base model.
        precisions: of a step of the base model.
        lengths: over which one attends.
        written: how many sentences are written at once.
        models: of which the memory is measured: a Shape and a vocabulary each.
        words_held: of each side, in the batches of those.
    """

    sizes: Sizes = Sizes()  # noqa: RUF009  it is frozen
    words: tuple = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
    sentences: tuple = (16, 64, 256, 1024)
    compiled: tuple = (64, 1024)
    base: tuple = (8, 32, 64, 128, 256, 512, 1024, 2048)
    precisions: tuple = ("float32", "tf32", "bfloat16", "float16")
    lengths: tuple = (64, 256, 1024, 4096, 16384)
    written: tuple = (1, 8, 64, 512)
    models: tuple = (
        (Shape(192, 4, 2, 2, 384, tied="all"), 3000),
        (Shape(256, 4, 3, 3, 1024, tied="all"), 8000),
        (BASE, 37_000),
    )
    words_held: tuple = (2048, 16384)


def products(device, budget):
    """Multiply more and more words with a square weight matrix.

    Returns:
        dict from a precision to a list of [words, FLOPs per byte, FLOPs a second].
    """
    found, width = {}, budget.sizes.product
    for precision in ("float32", "tf32", "bfloat16"):
        dtype = DTYPES[precision]
        with float32_products_in(precision, device):
            found[precision] = [
                [
                    words,
                    product_intensity(words, width, size=dtype.itemsize),
                    gpu_predictions.products(device, dtype, budget.sizes, words),
                ]
                for words in budget.words
            ]
    return found


def training(device, budget):
    """Time a training step of the bench's model, ours beside PyTorch's and the textbook's.

    Returns:
        list of dicts: `name`, `precision`, `how` ("launched", "recorded", or a mode of
        torch.compile), `sentences`, `seconds`, `words` (of both sides) and `flops` of a step, the
        bytes at the `peak`, and `first`, the seconds of the first step.
    """
    return [
        one_training(device, name, precision, how, sentences, budget.sizes.rounds)
        for sentences in budget.sentences
        for how in hows(device)
        for precision in ("float32", "tf32", "bfloat16")
        for name in ways.MAKERS
    ]


def compiled(device, budget):
    """Time the same in 16 bits, with and without the code that torch.compile makes: see
    `training`.
    """
    return [
        one_training(device, name, "bfloat16", how, sentences, budget.sizes.rounds)
        for how in ("launched", "default", "reduce-overhead")
        for sentences in budget.compiled
        for name in ("ours", "nn.Transformer")
    ]


def one_training(device, name, precision, how, sentences, rounds):
    """Time one of them: see `training`."""
    free(device)
    mode = None if how in ("launched", "recorded") else how
    runner = ways.Runner(name, precision, device, mode, how == "recorded")
    given = ways.batch(1.0, device, sentences=sentences)
    first = gpu_predictions.reading(device, partial(runner.step, *given), 1)
    in_use(device)
    took = seconds(device, partial(runner.step, *given), rounds)
    return {
        "name": name,
        "precision": precision,
        "how": how,
        "sentences": sentences,
        "seconds": took,
        "words": 2 * sentences * ways.LENGTH,
        "flops": bench.flops() * sentences / ways.BATCH,
        "peak": peak(device) if how == "launched" else None,
        "first": first,
    }


def base_steps(device, budget):
    """Time a training step of the base model: larger and larger batches in 16 bits, and one batch
    in each precision.

    Returns:
        list of dicts: `precision`, `how` ("launched" or "recorded"), `sentences`, `seconds`,
        `flops`, and the bytes at the `peak` of what is launched.
    """
    steps = [("bfloat16", sentences) for sentences in budget.base]
    steps += [(each, budget.sizes.sentences) for each in budget.precisions if each != "bfloat16"]
    found = []
    for how, (precision, sentences) in itertools.product(hows(device), steps):
        free(device)
        sizes = replace(budget.sizes, sentences=sentences)
        recorded = how == "recorded"
        took, most, flops = gpu_predictions.step(device, precision, sizes, recorded)
        found.append(
            {
                "precision": precision,
                "how": how,
                "sentences": sentences,
                "seconds": took,
                "flops": flops,
                "peak": None if recorded else most,
            }
        )
    return found


def held(device, budget):
    """Measure what a forward and a backward pass take at their peak, beyond what was there before.

    Returns:
        list of dicts: `shape` and `vocabulary`, `precision`, `recomputed`, `words` and `peak`.
    """
    found = []
    kinds = itertools.product(budget.models, (0.0, 0.1), ("bfloat16", "float32"), (False, True))
    for (shape, vocabulary), dropout, precision, recomputed in kinds:
        shape = replace(shape, dropout=dropout)
        model = Translator(vocabulary, vocabulary, **asdict(shape)).train().to(device)
        model.recomputed, objective = recomputed, Objective(model, 0.1)
        for words in budget.words_held:
            src, target = (
                torch.randint(4, vocabulary, (words // 32, 32 + n), device=device) for n in (0, 1)
            )
            places = torch.arange(words // 32 * 32, device=device)
            for _ in range(2):  # the gradients are there the second time
                before = in_use(device)
                with products_in(precision, device):
                    total = objective(src, target, places)
                total.backward()
                del total
            row = {"shape": asdict(shape), "vocabulary": vocabulary, "precision": precision}
            row |= {"recomputed": recomputed, "words": words, "peak": peak(device) - before}
            found.append(row)
    return found


def attention(device, budget, heads=8, features=64):
    """Time attention forward and backward over one long text in 16 bits: with its table of weights,
    and with PyTorch's fused kernel.

    Returns:
        list of dicts: `length`, and of both `plain` and `fused` [seconds, bytes at the peak].
    """

    def plain(query, key, value):
        weights = torch.softmax(query @ key.mT / features**0.5, dim=-1)
        return weights @ value

    kinds = {"plain": plain, "fused": functional.scaled_dot_product_attention}
    found = []
    for length in budget.lengths:
        shape = (3, 1, heads, length, features)
        given = [
            each.requires_grad_() for each in torch.randn(shape, device=device).bfloat16().unbind()
        ]
        row = {"length": length}
        for name, function in kinds.items():
            both = partial(forward_and_backward, function, given, torch.randn_like(given[0]))
            free(device)
            took = seconds(device, both, budget.sizes.rounds)
            before = in_use(device)
            both()
            row[name] = [took, peak(device) - before]
        found.append(row)
    return found


def forward_and_backward(function, given, upstream):
    """Return the gradients of what a function is given."""
    return torch.autograd.grad(function(*given), given, upstream)


def profiles(device, budget):
    """Run a step of the bench's model in 16 bits under the profiler.

    Returns:
        list of dicts: `sentences`, `seconds` of a step without the profiler, and of the step under
        it the `kernels` that ran, the seconds in which the device was `busy`, and those of the
        products outside attention, `multiplying`; `longest` is a list of [kernel, calls, seconds].
    """
    found = []
    for sentences in budget.sentences:
        free(device)
        runner = ways.Runner("ours", "bfloat16", device)
        step = partial(runner.step, *ways.batch(1.0, device, sentences=sentences))
        took = seconds(device, step, budget.sizes.rounds)
        kinds = [ProfilerActivity.CPU]
        kinds += [ProfilerActivity.CUDA] if device.type == "cuda" else []
        with profile(activities=kinds) as seen:
            step()
            gpu_predictions.wait(device)
        kernels = [
            (each.key, each.count, each.self_device_time_total / 1e6)
            for each in seen.key_averages()
            if each.device_type == torch.autograd.DeviceType.CUDA
            and not each.key.startswith("Optimizer.")  # a range around kernels that are listed, too
        ]
        kernels.sort(key=lambda row: -row[2])
        found.append(
            {
                "sentences": sentences,
                "seconds": took,
                "kernels": sum(count for _, count, _ in kernels),
                "busy": sum(each for *_, each in kernels),
                "multiplying": sum(each for name, _, each in kernels if multiplies(name)),
                "longest": [[name[:80], *rest] for name, *rest in kernels[:12]],
            }
        )
    return found


def multiplies(name):
    """Return whether a kernel is a product of matrices, by its name."""
    return any(part in name.lower() for part in ("gemm", "nvjet", "cutlass", "xmma"))


def writing(device, budget, words=64):
    """Write words one after the other, greedily, with the base model in 16 bits.

    Returns:
        list of dicts: `sentences` at once, and the `seconds` of a word of all of them.
    """
    free(device)
    sizes, found = budget.sizes, []
    model = Translator(sizes.vocabulary, sizes.vocabulary, **sizes.shape.__dict__)
    model = model.to(device).eval().to(torch.bfloat16)

    def write(src):
        with torch.no_grad():
            cached, ids = Cached(model, src, words + 1), src[:, 0]
            for _ in range(words):
                ids = cached.advance(ids).argmax(dim=-1)

    for sentences in budget.written:
        src = torch.randint(4, sizes.vocabulary, (sentences, 32), device=device)
        took = seconds(device, partial(write, src), min(3, sizes.rounds))
        found.append({"sentences": sentences, "seconds": took / words})
    return found


def hows(device):
    """Return in which ways a step can be run on a device."""
    return ("launched", "recorded") if device.type == "cuda" else ("launched",)


def free(device):
    """Give back what the last measurement left."""
    gc.collect()
    torch.compiler.reset()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def in_use(device):
    """Return the bytes that are in use on a GPU, and forget how many were; 0 on a CPU."""
    if device.type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak(device):
    """Return the most bytes that were in use at once on a GPU; 0 on a CPU."""
    return torch.cuda.max_memory_allocated() if device.type == "cuda" else 0


def claims(device, budget):
    """Measure what chapter 10 predicts: see `gpu_predictions.measured`."""
    return gpu_predictions.measured(device, "bfloat16", budget.sizes)


MEASURED = {
    "claims": claims,
    "products": products,
    "base": base_steps,
    "held": held,
    "attention": attention,
    "profiles": profiles,
    "writing": writing,
    "training": training,
    "compiled": compiled,
}
