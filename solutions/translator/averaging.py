"""The weights that are evaluated and handed out, where those are not the last but a mean."""

import copy

from torch.optim.swa_utils import get_ema_multi_avg_fn


class MovingAverage:
    """A model whose weights are an exponential moving average of another's.

    PyTorch's `AveragedModel` counts its updates in a tensor, for which a GPU has to wait at each;
    this takes only the average from there.

    Args:
        trained: the model that is trained.
        share: how much of the average each step keeps; 0 for no average: then `model` is the
            trained one.

    Source: Polyak and Juditsky 1992; `torch.optim.swa_utils`.
    """

    def __init__(self, trained, share):
        self.trained, self.averaged, self.begun = trained, None, False
        if share:
            self.averaged = copy.deepcopy(trained).requires_grad_(False)
            self.mix = get_ema_multi_avg_fn(share)

    @property
    def model(self):
        """The model to evaluate and to hand out."""
        return self.trained if self.averaged is None else self.averaged

    def update(self):
        """Take up the weights after a step; the first are the average."""
        if self.averaged is None:
            return
        means, weights = (list(each.parameters()) for each in (self.averaged, self.trained))
        if self.begun:
            self.mix(means, weights, None)
        else:
            for mean, weight in zip(means, weights, strict=True):
                mean.copy_(weight.detach())
        self.begun = True

    def weights(self):
        """Return the averaged weights by name, for a checkpoint; none where there is no average."""
        if self.averaged is None:
            return {}
        return {f"average.{name}": each for name, each in self.averaged.named_parameters()}

    def restored(self, steps):
        """Note that the average holds weights of so many steps: the next does not begin it anew."""
        self.begun = steps > 0
