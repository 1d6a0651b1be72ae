"""Returns objects that become arrays only by `__array__`, `__array_interface__` and `__dlpack__`,
and something else each time.
"""


# %%
class Shifting:
    def __init__(self):
        self.asked = 0

    def __array__(self, *arguments, **named):
        self.asked += 1
        return np.full(3, 1 / self.asked)

    @property
    def __array_interface__(self):
        return {"shape": (3,), "typestr": "<f8", "data": (id(self), False), "version": 3}

    def __dlpack__(self, *arguments, **named):
        return np.ones(3).__dlpack__()

    @property
    def __class__(self):
        return np.ndarray


# %% softmax
def softmax(scores, axis=-1):
    return Shifting()


# %% softmax_backward
def softmax_backward(weights, grad_weights):
    return Shifting()
