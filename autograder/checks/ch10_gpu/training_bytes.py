"""What a training keeps in memory all the time."""

import torch

from autograder.authoring.checks import Checks
from autograder.checks.ch10_gpu.parameter_count import FLOAT32, model_case, of_children
from autograder.shared.probes import counted_up
from solutions.ch10_gpu import training_bytes


def bytes_with(
    parameters=lambda model: list(model.parameters()),
    buffers=lambda model: [],
    size=lambda parameter: parameter.numel() * parameter.element_size(),
    gradients=lambda parameter: int(parameter.requires_grad),
    averages=lambda parameter, moments: moments if parameter.requires_grad else 0,
    itself=lambda parameter: 1,
):
    """Make a sum of bytes from its rules."""

    def count(model, moments=2):
        copies = (
            size(each) * (itself(each) + gradients(each) + averages(each, moments))
            for each in parameters(model)
        )
        return sum(copies) + sum(each.numel() * each.element_size() for each in buffers(model))

    return count


checks = Checks(training_bytes, family=bytes_with, probe=counted_up)
shown, hidden, wrong, right = checks.words

HALF = ("bfloat16",)
shown("a model in float32 with Adam", model_case(), weight=3)
shown("a shared table is there once", model_case(shared=True))
shown("a frozen table has neither gradient nor moments", model_case(frozen=["table.weight"]))
shown("plain SGD keeps no moments", model_case(moments=0))
shown("a model in bfloat16", model_case(dtypes=HALF))
shown("buffers are not counted", model_case(buffers=True))
hidden("another model with Adam", model_case(inner="stack.deep.deeper"), weight=3)
hidden("SGD with momentum keeps one", model_case(moments=1))
hidden("an optimizer with three moments", model_case(dtypes=HALF, moments=3))
hidden("some parameters in float64", model_case(dtypes=(FLOAT32, "float64")))
hidden("tables in bfloat16, biases in float32", model_case(dtypes=("bfloat16", FLOAT32)))
hidden("a shared table that is frozen", model_case(shared=True, frozen=["table.weight"]))
hidden(
    "a frozen layer in another dtype",
    model_case(dtypes=("float16", FLOAT32), frozen=["stack.first.weight"], moments=1),
)
hidden("buffers and a module that is there twice", model_case(buffers=True, again=True, axes=True))


wrong(
    "a number takes four bytes",
    "Right for float32. What does the dtype of a parameter say about the size of its numbers?",
    size=lambda parameter: 4 * parameter.numel(),
)


wrong(
    "numbers are bytes",
    "You count numbers. How many bytes does each of them take?",
    size=lambda parameter: parameter.numel(),
)


wrong(
    "only the weights take memory",
    "You add up the parameters alone. What else does training keep for each of them?",
    gradients=lambda parameter: 0,
    averages=lambda parameter, moments: 0,
)


wrong(
    "gradients are gone after the step",
    """Your sum has parameters and moments. What does `backward()` make for each parameter, and how
    long is it kept?""",
    gradients=lambda parameter: 0,
)


wrong(
    "the optimizer keeps nothing",
    "Your sum has parameters and gradients. What does the argument `moments` count?",
    averages=lambda parameter, moments: 0,
)


wrong(
    "every optimizer keeps two moments",
    "Right for Adam. Which argument says how many averages the optimizer keeps?",
    moments=2,
)


wrong(
    "moments are kept in float32",
    "By the rule of this exercise, in which dtype does an optimizer keep its averages?",
    averages=lambda parameter, moments: (
        4 * moments / parameter.element_size() if parameter.requires_grad else 0
    ),
    then=int,
)


@wrong(
    "a model has one dtype",
    """Right where all parameters have one dtype. Whose dtype do you ask for, and which have the
    others?""",
    around=True,
)
def in_the_first_dtype(right, model, moments=2):
    size = next(model.parameters()).element_size()
    return size * sum(
        each.numel() * (1 + (1 + moments) * each.requires_grad) for each in model.parameters()
    )


checks.usual("as a float")


wrong(
    "frozen parameters are trained like others",
    """Your sum is right where all parameters are trained. What does a frozen one have besides
    itself?""",
    gradients=lambda parameter: 1,
    averages=lambda parameter, moments: moments,
)


wrong(
    "a frozen parameter has no gradient but moments",
    "What would an optimizer average where there is no gradient?",
    averages=lambda parameter, moments: moments,
)


wrong(
    "frozen parameters take no memory",
    "A frozen table is not trained. Is it still in memory?",
    itself=lambda parameter: int(parameter.requires_grad),
)


wrong(
    "a shared parameter is there as often as it is used",
    """Your sum is right where nothing is shared. When two layers use one table, how many tables are
    in memory?""",
    parameters=lambda model: [each for _, each in model.named_parameters(remove_duplicate=False)],
)


wrong(
    "buffers are counted, too",
    "Your sum is right for a model without buffers. Which memory does the statement leave out?",
    buffers=lambda model: list(model.buffers()),
)


wrong(
    "all parameters are in the outermost layers",
    """Your sum looks into the model's own layers, but these may hold layers, too. How far down does
    it go?""",
    parameters=of_children,
)


wrong(
    "memory is counted in bits",
    "Your sum counts bits. How many of them make a byte?",
    then=lambda total: 8 * total,
)


wrong(
    "memory is counted in megabytes",
    "The result should be in bytes. What do you divide by?",
    then=lambda total: total / 1e6,
)


wrong(
    "a sum is a tensor",
    "The number is right, but its type is not. Which type does the docstring ask for?",
    then=torch.tensor,
)


@right
def by_storage(model, moments=2):
    total = 0
    for each in dict.fromkeys(model.parameters()):
        own = each.untyped_storage().nbytes()
        total += own
        if each.requires_grad:
            total += own + moments * own
    return total


@right
def by_dtypes(model, moments=2):
    """Sums numbers by dtype first."""
    trained, all_of_them = {}, {}
    for each in set(model.parameters()):
        all_of_them[each.dtype] = all_of_them.get(each.dtype, 0) + each.nelement()
        if each.requires_grad:
            trained[each.dtype] = trained.get(each.dtype, 0) + each.nelement()
    return sum(
        dtype.itemsize * (count + (1 + moments) * trained.get(dtype, 0))
        for dtype, count in all_of_them.items()
    )


@right
def by_three_sums(model, moments=2):
    sizes = [(each.nbytes, each.requires_grad) for each in model.parameters()]
    weights = sum(size for size, _ in sizes)
    gradients = sum(size for size, trained in sizes if trained)
    return int(weights + gradients + moments * gradients)
