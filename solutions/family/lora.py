"""LoRA: teach a trained model something new by a few numbers beside its own."""

import torch
from torch import nn


class LoRA(nn.Module):
    """A linear layer that is frozen, and a product of two thin matrices beside it that learns.

    Args:
        linear: nn.Linear from `in_features` to `out_features`; its parameters are frozen.
        rank: width between the two matrices.
        scale: what their product is multiplied by.

    Source: Hu et al. 2022, section 4.1.
    """

    def __init__(self, linear, rank, scale=1.0):
        super().__init__()
        self.linear, self.scale = linear.requires_grad_(False), scale
        like = {"dtype": linear.weight.dtype, "device": linear.weight.device}
        self.down = nn.Parameter(torch.randn(rank, linear.in_features, **like) / rank)
        # zeros: before the first step nothing has changed
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank, **like))

    def forward(self, x):
        """Map (..., in_features) to (..., out_features)."""
        return self.linear(x) + self.scale * (x @ self.down.T) @ self.up.T

    @torch.no_grad()
    def merged(self):
        """Return one nn.Linear that does the same, and costs no more than the frozen one."""
        linear = nn.Linear(
            self.linear.in_features, self.linear.out_features, self.linear.bias is not None
        ).to(self.up)
        linear.weight.copy_(self.linear.weight + self.scale * self.up @ self.down)
        if linear.bias is not None:
            linear.bias.copy_(self.linear.bias)
        return linear


def with_lora(model, rank, names=("w_q", "w_v")):
    """Freeze a model, and put LoRA beside those of its linear layers that have one of the names.

    Args:
        model: nn.Module; it is changed.

    Returns:
        the model.
    """
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if name in names and isinstance(layer, nn.Linear):
                setattr(module, name, LoRA(layer, rank))
    return model
