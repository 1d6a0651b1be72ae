"""Right answers written with PyTorch, to exercises that are asked in NumPy."""

from functools import wraps

import numpy as np


def with_tensors(answer):
    """Let an answer that takes and returns tensors take and return arrays."""

    @wraps(answer)
    def from_arrays(*arguments):
        import torch  # most NumPy exercises are asked without it

        result = answer(
            *(
                torch.from_numpy(argument.copy()) if isinstance(argument, np.ndarray) else argument
                for argument in arguments
            )
        )
        if isinstance(result, tuple):
            return tuple(each.numpy() for each in result)
        return result.numpy()

    return from_arrays
