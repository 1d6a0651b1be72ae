"""Writes its functions as lambdas, partials, callables, methods and closures, with defaults,
annotations and decorators of its own.
"""

# %%
import functools


def logged(function):
    @functools.wraps(function)
    def inner(*arguments, **named):
        print("called", function.__name__)
        return function(*arguments, **named)

    return inner


# %% softmax
@logged
@functools.lru_cache(None) if False else logged
def softmax(scores: np.ndarray, axis: int = -1, *, keepdims=True) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=keepdims))
    return exponentials / exponentials.sum(axis=axis, keepdims=keepdims)


# %% attention_scores
attention_scores = lambda query, key: query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])


# %% softmax_backward
class Backward:
    def __call__(self, weights, grad_weights):
        products = weights * grad_weights
        return products - weights * products.sum(axis=-1, keepdims=True)


softmax_backward = Backward()
