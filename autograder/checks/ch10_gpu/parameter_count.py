"""How many numbers training changes."""

import math

import torch
from torch import nn

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import counted_up
from solutions.ch10_gpu import parameter_count

FLOAT32 = "float32"


@drawn
def model_case(
    rng,
    shared=False,
    again=False,
    frozen=(),
    buffers=False,
    dtypes=(FLOAT32,),
    inner="stack.first",
    axes=False,
    **arguments,
):
    """Make the inputs of a case: a model with a table, a layer inside of another module, and an
    output layer.

    Args:
        shared: whether the output layer has the table's weight, too.
        again: whether the inner module is there a second time.
        frozen: names of parameters.
        buffers: whether there are tables that are no parameters.
        dtypes: of the parameters, in turn.
        axes: whether the inner module also has parameters of three axes, and of none.
        arguments: further ones of the function.
    """
    vocab_size, d_model, d_ff = (integer(rng, *ends) for ends in ((11, 30), (3, 8), (8, 11)))
    shapes = {
        "table.weight": (vocab_size, d_model),
        f"{inner}.weight": (d_ff, d_model),
        f"{inner}.bias": (d_ff,),
    }
    if axes:
        shapes |= {f"{inner}.filter": (d_ff, d_model, 3), f"{inner}.scale": ()}
    if not shared:
        shapes["output.weight"] = (vocab_size, d_model)
    shapes["output.bias"] = (vocab_size,)
    parameters = {
        name: (shape, dtypes[place % len(dtypes)])
        for place, (name, shape) in enumerate(shapes.items())
    }
    described = {"stand_in": "module", "parameters": parameters}
    if shared:
        described["shared"] = {"output.weight": "table.weight"}
    if again:
        described["again"] = {"stack.second": inner}
    if buffers:
        described["buffers"] = {"positions": ((50, d_model), FLOAT32), "seen": ((3,), "int64")}
    if frozen:
        described["frozen"] = list(frozen)
    return {"model": described, **arguments}


def count_with(
    parameters=lambda model: list(model.parameters()),
    trained=lambda parameter: parameter.requires_grad,
    size=lambda parameter: parameter.numel(),
    besides=lambda model: 0,
):
    """Make a count from its rules."""

    def count(model):
        return sum(size(each) for each in parameters(model) if trained(each)) + besides(model)

    return count


checks = Checks(parameter_count, family=count_with, probe=counted_up)
shown, hidden, wrong, right = checks.words

shown("all parameters of a model", model_case(), weight=3)
shown("a shared table counts once", model_case(shared=True))
shown("a frozen table does not count", model_case(frozen=["table.weight"]))
shown("a table of positions is no parameter", model_case(buffers=True))
shown("a module that is there twice counts once", model_case(again=True))
shown("a parameter of three axes, and a single number", model_case(axes=True))
hidden("a model in bfloat16", model_case(dtypes=("bfloat16",)), weight=3)
hidden("a shared table and a frozen bias", model_case(shared=True, frozen=["output.bias"]))
hidden("a shared table that is frozen", model_case(shared=True, frozen=["table.weight"]))
hidden("buffers beside a shared module", model_case(buffers=True, again=True))
hidden("two dtypes, three axes", model_case(dtypes=("bfloat16", FLOAT32), axes=True))
hidden("a layer far inside", model_case(inner="stack.deep.deeper", frozen=["output.weight"]))


wrong(
    "a shared parameter counts in each of its places",
    """Your count is right where nothing is shared. When two layers use one table, how many tables
    does training change?""",
    parameters=lambda model: [each for _, each in model.named_parameters(remove_duplicate=False)],
)


wrong(
    "frozen parameters count like others",
    "You count parameters that training leaves alone. Which attribute says whether it does?",
    trained=lambda parameter: True,
)


wrong(
    "only what is frozen counts",
    "You count exactly the parameters that should be left out. What does `requires_grad` mean?",
    trained=lambda parameter: not parameter.requires_grad,
)


wrong(
    "everything that a model stores is a parameter",
    """A table of positions is stored with the model, but training leaves it alone. Where do the
    tensors that you count come from?""",
    besides=lambda model: sum(each.numel() for each in model.buffers()),
)


wrong(
    "parameters are counted, not their numbers",
    "You count tensors. How many numbers does each of them hold?",
    size=lambda parameter: 1,
)


wrong(
    "a parameter has as many numbers as rows",
    "Your count sees one axis of each parameter. What about the others?",
    size=lambda parameter: len(parameter) if parameter.ndim else 1,
)


@wrong(
    "a parameter is a vector or a matrix",
    "Right for vectors and matrices. How many axes may a tensor have?",
    rule="size",
)
def of_a_vector_or_a_matrix(parameter):
    return parameter.shape[0] * (parameter.shape[1] if parameter.ndim > 1 else 1)


wrong(
    "bytes are numbers",
    "You count bytes. How many numbers is that?",
    size=lambda parameter: parameter.numel() * parameter.element_size(),
)


wrong(
    "only matrices are trained",
    "Look at the parameters that your count leaves out. Does training leave a bias alone?",
    trained=lambda parameter: parameter.requires_grad and parameter.ndim > 1,
)


@wrong(
    "all parameters are in the outermost layers",
    """Your count looks into the model's own layers, but these may hold layers, too. How far down
    does it go?""",
    rule="parameters",
)
def of_children(model):
    found = {}
    for child in model.children():
        found |= {id(each): each for each in child.parameters(recurse=False)}
    return list(found.values())


@wrong(
    "equal parameters are the same parameter",
    """Two tables may hold equal numbers, as new biases do, and still be two. What makes two
    parameters the same one?""",
    rule="parameters",
)
def told_apart_by_shape_and_numbers(model):
    found = {}
    for each in model.parameters():
        found.setdefault((each.shape, str(each.dtype), each.detach().float().sum().item()), each)
    return list(found.values())


wrong(
    "a count is a tensor",
    "The number is right, but its type is not. Which type does the docstring ask for?",
    then=torch.tensor,
)


checks.usual("as a float")


@right
def by_state(model):
    """Goes through names, and remembers which objects it has seen."""
    seen, total = set(), 0
    for _, parameter in model.named_parameters(remove_duplicate=False):
        if id(parameter) not in seen and parameter.requires_grad:
            total += math.prod(parameter.shape)
        seen.add(id(parameter))
    return total


@right
def by_modules(model):
    """Collects the parameters of each module by itself."""
    found = {each for part in model.modules() for each in part.parameters(recurse=False)}
    return sum(each.nelement() for each in found if each.requires_grad)


@right
def by_one_vector(model):
    trained = [each for each in model.parameters() if each.requires_grad]
    return len(nn.utils.parameters_to_vector(trained)) if trained else 0
