"""The gradient of a loss, from the weights of a softmax back to its scores."""

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch04_attention import normal
from autograder.shared.laws import sums_to_zero
from autograder.shared.probes import arguments_after
from solutions.ch04_attention import softmax, softmax_backward


@drawn
def weights_and_gradient(rng, *shape, dtype=np.float64):
    weights = softmax(normal(rng, *shape)).astype(dtype)
    return {"weights": weights, "grad_weights": normal(rng, *shape, dtype=dtype)}


def saturated(rng):
    return {"weights": softmax(40 * normal(rng, 3, 4)), "grad_weights": normal(rng, 3, 4)}


def nearly_saturated(rng):
    """Weights that are almost 1, with gradients of which a little still passes."""
    scores, grad_weights = normal(rng, 3, 4), normal(rng, 3, 4)
    scores[:, 0], grad_weights[:, 0] = 20, 5
    return {"weights": softmax(scores), "grad_weights": grad_weights}


def in_float16(rng):
    """Weights and gradients whose products and sums are exact in float16."""
    return {
        "weights": rng.permuted([[0.5, 0.25, 0.125, 0.125]] * 3, axis=-1).astype(np.float16),
        "grad_weights": rng.permuted([[-1, -0.5, 0.5, 1]] * 3, axis=-1).astype(np.float16),
    }


def backward_with(
    mean=lambda weights, grad_weights: (weights * grad_weights).sum(axis=-1, keepdims=True),
):
    """Make a `softmax_backward` from a rule for the mean that is taken off each gradient."""

    def softmax_backward(weights, grad_weights):
        return weights * (grad_weights - mean(weights, grad_weights))

    return softmax_backward


checks = Checks(
    softmax_backward,
    laws=(sums_to_zero,),
    shortcuts="_softmax_backward_data",
    family=backward_with,
)
shown, hidden, wrong, right = checks.words

shown("two weights", weights_and_gradient(2), weight=2)
shown("each row on its own", weights_and_gradient(3, 4), weight=3)
shown("as many queries as keys", weights_and_gradient(3, 3))
shown("a weight of 1 passes no gradient", weights=np.eye(3), grad_weights=normal(3, 3))
shown("float32 in, float32 out", weights_and_gradient(2, 3, dtype=np.float32))
shown("the arguments stay as they were", weights_and_gradient(2, 3), probe=arguments_after)
hidden("batch and heads", weights_and_gradient(2, 3, 4, 5), weight=3)
hidden("all sizes equal", weights_and_gradient(3, 3, 3), weight=2)
hidden("a saturated softmax", saturated)
hidden("a single key", weights_and_gradient(4, 1))
hidden("a weight of almost 1 passes a little", nearly_saturated)
hidden("five axes, some of them of length 1", weights_and_gradient(2, 1, 2, 1, 3), weight=2)
hidden("float16 in, float16 out", in_float16)


wrong(
    "a weight depends on its own score alone",
    """Each weight depends on every score of its row, because the weights share one sum. Where do
    the other terms of the formula enter?""",
    mean=np.multiply,
)


@wrong(
    "the weight in front can be dropped",
    "Compare with the formula term by term: every one of them carries a weight in front.",
)
def without_weights(weights, grad_weights):
    return grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True)


wrong(
    "the softmax only multiplies",
    "Raising one score lowers all the other weights. Which term of the formula says that?",
    mean=lambda weights, grad_weights: 0,
)


wrong(
    "the plain mean of the gradient is taken off",
    """What you subtract from each gradient should be an average, but not one in which all keys
    count the same.""",
    mean=lambda weights, grad_weights: grad_weights.mean(axis=-1, keepdims=True),
)


wrong(
    "the plain sum of the gradient is taken off",
    "In the sum over i, what is the gradient of each weight multiplied by?",
    mean=lambda weights, grad_weights: grad_weights.sum(axis=-1, keepdims=True),
)


wrong(
    "a sum over an axis still lines up with the array",
    """What shape does your sum have, and along which axis is it stretched when it meets the
    gradient?""",
    mean=lambda weights, grad_weights: (weights * grad_weights).sum(axis=-1),
)


wrong(
    "one sum serves the whole array",
    "Each row is a softmax of its own. Over which numbers does your sum run?",
    mean=lambda weights, grad_weights: (weights * grad_weights).sum(),
)


@wrong(
    "the sum runs over the queries",
    "Along which axis was the softmax taken, and along which does your sum run?",
    rule="mean",
)
def over_queries(weights, grad_weights):
    return (weights * grad_weights).sum(axis=max(-2, -weights.ndim), keepdims=True)


checks.usual(
    "negated",
    belief="the sign is turned round",
    hint="The size is right, but the sign is not: raising a score should raise its own weight.",
)


wrong(
    "the argument holds scores",
    "What you are given has already been through the softmax.",
    weights=softmax,
)


wrong(
    "the caller's gradient is free to be worked in",
    """Compare `grad_weights` before and after the call. Which line of yours writes into it instead
    of making a new array?""",
    grad_weights=lambda gradient: -np.negative(gradient, out=gradient),
)


checks.usual("in float64")


checks.exchanged("weights", "grad_weights")


@right
def by_jacobian(weights, grad_weights):
    identity = np.eye(weights.shape[-1], dtype=weights.dtype)
    # (..., key_len, key_len)
    jacobian = weights[..., np.newaxis] * (identity - weights[..., np.newaxis, :])
    return np.einsum("...i,...ij->...j", grad_weights, jacobian)


@right
def expanded(weights, grad_weights):
    product = weights * grad_weights
    return product - weights * np.einsum("...i->...", product)[..., np.newaxis]


@right
def by_loops(weights, grad_weights):
    gradient = np.zeros_like(weights)
    for *row, i, j in np.ndindex(*weights.shape, weights.shape[-1]):
        weight, other = weights[(*row, i)], weights[(*row, j)]
        gradient[(*row, j)] += grad_weights[(*row, i)] * weight * ((i == j) - other)
    return gradient


@right
@with_tensors
def by_autograd(weights, grad_weights):
    scores = weights.log().requires_grad_()
    scores.softmax(dim=-1).backward(grad_weights)
    return scores.grad
