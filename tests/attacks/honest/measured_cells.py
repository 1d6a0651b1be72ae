"""Measures how long its cells take, with the class of an exercise in them, and calls its own functions
by `map`, by `partial` and by names that it puts together.
"""

STEM = "ch07_layers"
FLAGGED = {"reference"}  # which solves the other exercises


def hand_in(notebook):
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "LayerNorm":
            cell["source"] = "%%time\n" + "".join(cell["source"])
    return notebook


# %%
# %config InlineBackend.figure_formats = {"png", "retina"}
# %timeit -n 3 torch.ones(3) + 1

# %% LayerNorm
from functools import partial


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        for name, make in (("weight", torch.ones), ("bias", torch.zeros)):
            setattr(self, name, nn.Parameter(make(d_model)))

    def forward(self, x):
        mean_of = partial(torch.mean, dim=-1, keepdim=True)
        centred = x - mean_of(x)
        variance = next(map(mean_of, [centred * centred]))
        weight, bias = (getattr(self, f"{name}") for name in ("weight", "bias"))
        return centred / torch.sqrt(variance + self.eps) * weight + bias
