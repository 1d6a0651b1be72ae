"""How much a loss depends on each head, by its gradient."""

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import importance_afterwards, returned_by_stand_ins
from solutions.ch12_interpretation import head_importance


@drawn
def a_loss(
    rng, layers, heads, d_model=4, batch=5, dtype=torch.float64, gates=None, old=False, gate=1.0
):
    """Draw a model that is run with gates, and gates whose numbers do not count.

    Args:
        gates: all of them, if they are not drawn.
        old: whether its parameters have gradients already.
        gate: by how much the drawn gates are larger than 0, in the mean.
    """
    shape = (layers, heads, d_model, d_model)
    loss = {
        "stand_in": "gated_loss",
        "weights": normal(rng, *shape, scale=0.6, dtype=dtype),
        "x": normal(rng, batch, d_model, dtype=dtype),
        "target": normal(rng, batch, d_model, dtype=dtype),
        "old_gradients": normal(rng, *shape, dtype=dtype) if old else None,
    }
    if gates is None:
        given = gate + normal(rng, layers, heads, dtype=dtype)
    else:
        given = torch.full((layers, heads), gates, dtype=dtype)
    return {"loss_fn": loss, "gates": given}


def gradient_at(loss_fn, at):
    (gradient,) = torch.autograd.grad(loss_fn(at), at)
    return gradient


def importance_with(
    at=lambda gates: torch.ones_like(gates, requires_grad=True),
    gradient=gradient_at,
    size=torch.abs,
    form=lambda importance: importance,
):
    """Make an importance from its rules: where the derivative is taken, how, and what is made of
    it.
    """

    def head_importance(loss_fn, gates):
        return form(size(gradient(loss_fn, at(gates))))

    return head_importance


checks = Checks(head_importance, family=importance_with, probe=returned_by_stand_ins)
shown, hidden, wrong, right = checks.words

shown("one layer, two heads", a_loss(1, 2, gates=1.0), weight=2)
shown("two layers, three heads", a_loss(2, 3, gates=1.0), weight=3)
shown("gates that are not 1 don't matter", a_loss(2, 2), weight=2)
shown("gates of 0", a_loss(2, 2, gates=0.0))
shown("no parameter has a gradient afterwards", a_loss(2, 2), probe=importance_afterwards, weight=2)
shown(
    "gradients that parameters have already stay as they are",
    a_loss(1, 2, old=True),
    probe=importance_afterwards,
)
hidden("four layers, eight heads", a_loss(4, 8, gates=1.0), weight=3)
hidden("one layer, one head", a_loss(1, 1, gates=1.0))
hidden("three layers of one head, other gates", a_loss(3, 1), weight=2)
hidden("other gates", a_loss(3, 4, gate=-0.5), weight=2)
hidden("in float32", a_loss(2, 3, dtype=torch.float32))
hidden("a larger model", a_loss(2, 4, d_model=8, batch=9, gates=1.0), weight=2)
hidden(
    "no parameter has a gradient after more layers",
    a_loss(3, 2, gates=1.0),
    probe=importance_afterwards,
    weight=2,
)
hidden(
    "gradients of an earlier step stay, for more heads",
    a_loss(2, 3, old=True),
    probe=importance_afterwards,
    weight=2,
)


wrong(
    "the sign counts",
    """Some of your numbers are negative. A head whose removal makes the loss smaller matters, too:
    what do the bars around the derivative mean?""",
    size=lambda gradient: gradient,
)


wrong(
    "the more the loss falls, the more a head matters",
    "Every one of your numbers has the wrong sign, or is 0. What do the bars mean?",
    size=torch.neg,
)


wrong(
    "what does not help counts for nothing",
    """Some of your numbers are 0. A derivative may be negative or positive: what do the bars around
    it mean?""",
    size=torch.relu,
)


wrong(
    "importance is a square",
    "Yours are the squares of what they should be. What do the bars around the derivative mean?",
    size=torch.square,
)


wrong(
    "the derivative is taken at the gates that come in",
    """Right where the gates that come in are 1. At which gates does the statement ask for the
    derivative?""",
    at=lambda gates: gates.detach().clone().requires_grad_(),
)


wrong(
    "the derivative is taken where all heads are gone",
    "You take the derivative where all gates are 0. Where does the statement ask for it?",
    at=lambda gates: torch.zeros_like(gates, requires_grad=True),
)


@wrong(
    "a backward pass is for all",
    """The numbers are right. But you have changed the `.grad` of every parameter that the loss
    uses. Is there a way to ask for a single gradient?""",
    rule="gradient",
)
def by_backward(loss_fn, at):
    loss_fn(at).backward()
    return at.grad


@wrong(
    "importance may remember where it comes from",
    """The numbers are right, but the result still holds the graph of a whole model. Which argument
    asks for that, or what could be cut at the end?""",
    rule="gradient",
)
def with_a_graph(loss_fn, at):
    (gradient,) = torch.autograd.grad(loss_fn(at), at, create_graph=True)
    return gradient


wrong(
    "the caller's gates may require gradients",
    """The numbers may be right, but you have changed the gates that came in. They require gradients
    now, also for the code that passed them to you.""",
    at=lambda gates: torch.ones_like(gates.requires_grad_()).requires_grad_(),
)


@wrong(
    "the caller's gates may be set to 1",
    """The result is right, but the gates that came in hold other numbers now. Which line writes
    into them?""",
    rule="at",
)
def written_over(gates):
    with torch.no_grad():
        gates.fill_(1.0)
    return gates.detach().clone().requires_grad_()


@wrong(
    "what the loss loses without a head is its importance",
    """You take heads away, one by one. That is another measure, and it takes a run for each head.
    What does the gradient say in a single one?""",
)
def by_removal(loss_fn, gates):
    ones, drop = torch.ones_like(gates), torch.zeros_like(gates)
    with torch.no_grad():
        whole = loss_fn(ones)
        for layer, head in torch.cartesian_prod(*map(torch.arange, gates.shape)).view(-1, 2):
            without = ones.clone()
            without[layer, head] = 0
            drop[layer, head] = loss_fn(without) - whole
    return drop.abs()


@wrong(
    "a small step is small enough",
    """Your numbers are right to some digits. You divide a difference of losses by a small step, but
    autograd knows the derivative itself, and for all heads at once.""",
)
def by_differences(loss_fn, gates):
    step, ones, found = 1e-3, torch.ones_like(gates), torch.zeros_like(gates)
    with torch.no_grad():
        for place in range(gates.numel()):
            up = ones.clone()
            up.view(-1)[place] += step
            found.view(-1)[place] = (loss_fn(up) - loss_fn(ones)) / step
    return found.abs()


wrong(
    "the importance of a layer adds up to 1",
    "You divide each layer by its sum. Does the statement compare heads only within a layer?",
    form=lambda importance: importance / importance.sum(dim=-1, keepdim=True),
)


wrong(
    "layers have the length 1",
    """You divide each layer by its norm, as some do before they prune. The statement asks for the
    derivative itself.""",
    form=lambda importance: importance / importance.norm(dim=-1, keepdim=True),
)


wrong(
    "the most important head has 1",
    "You divide by the largest number. The statement asks for the derivative itself.",
    form=lambda importance: importance / importance.max(),
)


wrong(
    "heads of the same number are one",
    "Your result has lost an axis. Each head of each layer has an importance of its own.",
    form=lambda importance: importance.mean(dim=0),
)


wrong(
    "a layer has one importance",
    "Your result has lost an axis. Does a layer have one gate, or one for each head?",
    form=lambda importance: importance.mean(dim=-1),
)


wrong(
    "heads come first",
    "Your rows are heads. Which of the two axes of the gates is the layer?",
    form=lambda importance: importance.T,
)


wrong(
    "the gates weigh the result",
    """Right where the gates that come in are 1, because you multiply the derivative by them. What
    of those gates counts?""",
    around=lambda right: lambda loss_fn, gates: right(loss_fn, gates) * gates.abs(),
)


checks.usual("in float32")


@right
def by_backward_on_a_list(loss_fn, gates):
    ones = torch.ones(gates.shape, dtype=gates.dtype, device=gates.device, requires_grad=True)
    torch.autograd.backward(loss_fn(ones), inputs=[ones])
    return ones.grad.abs()


@right
def by_functional_gradient(loss_fn, gates):
    return torch.func.grad(loss_fn)(torch.ones_like(gates)).abs().detach()


@right
def by_jacobian(loss_fn, gates):
    """Takes all first derivatives of a function of a flat tensor."""
    ones = torch.ones(gates.numel(), dtype=gates.dtype, device=gates.device)
    found = torch.autograd.functional.jacobian(lambda flat: loss_fn(flat.view_as(gates)), ones)
    return torch.maximum(found, -found).view_as(gates)
