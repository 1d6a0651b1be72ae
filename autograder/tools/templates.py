"""What `python -m autograder new` writes: each gap says FILL IN, and what belongs there."""

import ast
from dataclasses import dataclass

from autograder.course import ROOT

STATEMENT = """# %% [markdown]
# ## {number}. {title}
#
# FILL IN: what to build, and what for.
#
# For example, `{name}(...)` is FILL IN: a result that a reader can check by hand.
#
# *Hint:* FILL IN: a question that leads to the idea, and never the code.


"""
FUNCTION_CELL = '''# %% exercise="{name}" points={points}
def {name}({parameters}):
    """FILL IN: what it means, in one sentence.

    Args:
{args}

    Returns:
        FILL IN: its shape and dtype, and what it holds.
    """
    ### BEGIN SOLUTION
    raise NotImplementedError
    ### END SOLUTION
'''
CLASS_CELL = '''# %% exercise="{name}" points={points}
class {name}(nn.Module):
    """FILL IN: what it means, in one sentence.

    Args:
{args}
    """

    def __init__(self{comma}):
        ### BEGIN SOLUTION
        super().__init__()
        raise NotImplementedError
        ### END SOLUTION

    def forward(self, x):
        """FILL IN: what it does to `x`, with shapes."""
        ### BEGIN SOLUTION
        raise NotImplementedError
        ### END SOLUTION
'''
PAGE_LINE = """% FILL IN: a paragraph that prepares the reader for this exercise
**Exercise {number}: `{name}`.**

```{{open-notebook}} {stem}
```
"""
CHECKS = '''"""FILL IN: what the exercise is, in a line."""

{imports}

checks = Checks(reference.{name})
shown, hidden, wrong, right = checks.words

# A case's title says what a right answer does. Its inputs are drawn anew for each grading, each by
# itself: where one limits another, write a function of rng that returns them all.
shown("FILL IN: the plainest case"{case}, weight=2)
shown("FILL IN: what people forget"{case})
{special}hidden("FILL IN: a larger case"{larger}, weight=2)
hidden("FILL IN: the corner that nobody thinks of"{case})

# What people get wrong in most exercises; remove those that nobody would do here.
{usual}

@wrong(
    "FILL IN: the thought behind it",
    "FILL IN: where to look, and never what to write.",
)
def {wrong}({parameters}):
    raise NotImplementedError


# FILL IN: more wrong answers; an exercise knows five or more


@right
def by_loops({parameters}):
    raise NotImplementedError


# FILL IN: more right answers, written differently; an exercise knows three or more
'''
INTEGERS = ("_len", "_size", "num_", "d_", "heads", "offset", "length", "steps")


@dataclass(frozen=True)
class Parameter:
    """A parameter without a default, and how cases draw it.

    Args:
        small, larger: the text that draws it, in a plain case and in a larger one.
        floating: whether that is an array or tensor of floating numbers.
    """

    name: str
    small: str
    larger: str
    floating: bool = False

    @property
    def is_array(self):
        return not self.small.startswith("integer")


def checks_text(stem, name, parameters):
    """Return a file of checks with the usual cases and the usual wrong answers."""
    arguments = ast.parse(f"def f({parameters}): ...").body[0].args
    required = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    drawn = [drawn_as(stem, argument.arg) for argument in required]
    optional = {argument.arg for argument in arguments.args} - {each.name for each in drawn}
    small = "".join(f", {each.name}={each.small}" for each in drawn)
    larger = "".join(f", {each.name}={each.larger}" for each in drawn)
    lines = special_cases(stem, drawn, small, optional)
    text = CHECKS.format(
        name=name,
        parameters=parameters,
        wrong=f"wrong_{name.lower()}",
        case=small,
        larger=larger,
        special="".join(f"{line}\n" for line in lines),
        usual="".join(
            f'checks.usual("{each}")\n' for each in usual_of(stem, name, drawn, optional)
        ),
        imports="{imports}",
    )
    return text.replace("{imports}", imports_for(stem, text))


def drawn_as(stem, name):
    """Guess from a parameter's name how cases draw it; what cannot be guessed is a gap."""
    uses_torch = is_torch(stem)
    if name == "token_ids" and uses_torch:
        return Parameter(name, "draw.words(2, 5)", "draw.words(5, 9)")
    if name == "mask" and uses_torch:
        return Parameter(name, "draw.mask(2, 1, 4, 4)", "draw.mask(3, 1, 9, 9)")
    if any(part in name for part in INTEGERS):
        return Parameter(name, "integer(2, 7)", "integer(20, 60)")
    if uses_torch:
        return Parameter(name, "draw.normal(2, 3, 4)", "draw.normal(3, 7, 8)", True)
    if has_normal(stem):
        return Parameter(name, "normal(3, 4)", "normal(2, 5, 6)", True)
    return Parameter(name, '"FILL IN"', '"FILL IN"')


def special_cases(stem, drawn, small, optional):
    """Return the usual cases for what is often forgotten: arguments, dtype, gradients, device."""
    lines = []
    if any(each.is_array for each in drawn):
        lines.append(f'shown("the arguments stay as they were"{small}, probe=arguments_after)')
    if any(each.floating for each in drawn):
        other, dtype = ("float64", "torch.float64") if is_torch(stem) else ("float32", "np.float32")
        cast = small
        for each in drawn:
            if each.floating:
                cast = cast.replace(each.small, f"{each.small[:-1]}, dtype={dtype})")
        lines.append(f'hidden("{other} stays {other}"{cast})')
        if is_torch(stem):
            lines.append(f'hidden("gradients flow back"{small}, probe=gradients)')
    if "device" in optional:
        title = '"the result is on the device asked for"'
        lines.append(f'shown({title}{small}, device="meta", probe=device_kept)')
    return lines


def usual_of(stem, name, drawn, optional):
    """Return the names of the usual wrong answers that somebody may give here."""
    names = []
    if name.endswith("mask"):
        names += ["inverted", "as numbers", "added to the scores", "without axes of length 1"]
    if any(each.floating for each in drawn):
        names += ["in float32", "detached"] if is_torch(stem) else ["in float64"]
    if any(each.floating for each in drawn):
        names.append("changes its argument")
    return names + (["on the default device"] if "device" in optional else [])


def imports_for(stem, text):
    """Return the imports that a file of checks needs, in ruff's order."""
    probes = [name for name in ("arguments_after", "device_kept", "gradients") if name in text]
    lines = ["import numpy as np"] if "np." in text else []
    lines += ["import torch"] if "torch." in text else []
    lines += [""] if lines else []
    lines += ["from autograder.authoring import draw"] if "draw." in text else []
    lines += ["from autograder.authoring.checks import Checks"]
    lines += ["from autograder.authoring.drawn import integer"] if "integer(" in text else []
    lines += [f"from autograder.checks.{stem} import normal"] if "=normal(" in text else []
    lines += [f"from autograder.shared.probes import {', '.join(probes)}"] if probes else []
    return "\n".join([*lines, f"from solutions import {stem} as reference"])


def is_torch(stem):
    """Return whether a chapter's exercises are written with PyTorch."""
    return "\nimport torch\n" in (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")


def has_normal(stem):
    """Return whether a chapter's checks share a `normal`."""
    shared = ROOT / "autograder" / "checks" / stem / "__init__.py"
    return shared.exists() and "\ndef normal(" in shared.read_text(encoding="utf-8")
