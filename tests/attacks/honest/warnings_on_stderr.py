"""Warns, logs and writes to stderr, for which stock nbgrader gives nothing."""

# %%
import logging
import sys
import warnings

warnings.warn("overflow encountered in exp", stacklevel=1)
logging.warning("a remark")
print("progress: 100 %", file=sys.stderr)


# %% softmax
def softmax(scores, axis=-1):
    warnings.warn("I warn each time", stacklevel=1)
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    print("working", file=sys.stderr)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
