"""What stands in for a part of a model, made of the numbers in a case.

They are real ones, so that what they compute is written nowhere; each call of a function below
makes classes of its own, so that nobody can change those of another case.
"""

from autograder.shared.wire import is_tensor
from autograder.shared.wording import describe


def gated_loss(weights, x, target, old_gradients=None):
    """Return a function from gates to a loss, and the parameters of the model that it runs.

    Each layer adds to its states what its heads make of them, each times its gate.

    Args:
        weights: (layers, heads, d_model, d_model).
        x, target: (batch, d_model), what goes in and what should come out.
        old_gradients: like `weights`, what the parameters have as gradients already, if given.
    """
    import torch

    parameters = [torch.nn.Parameter(each.clone()) for each in weights]
    if old_gradients is not None:
        for parameter, gradient in zip(parameters, old_gradients, strict=True):
            parameter.grad = gradient.clone()

    def loss_fn(gates):
        if not is_tensor(gates) or gates.shape != weights.shape[:2]:
            raise ValueError(
                f"loss_fn takes gates of shape {tuple(weights.shape[:2])}, and is called with"
                f" {describe(gates)}"
            )
        states = x
        for layer, gate in zip(parameters, gates, strict=True):
            heads = torch.tanh(states @ layer)  # (heads, batch, d_model)
            states = states + (gate[:, None, None] * heads).sum(dim=0)
        return ((states - target) ** 2).mean()

    return loss_fn, parameters


def linear_layer(weight, bias=None):
    """Return an `nn.Linear` with these parameters."""
    from torch import nn

    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).to(weight.dtype)
    layer.weight.data = weight.clone()
    if bias is not None:
        layer.bias.data = bias.clone()
    return layer
