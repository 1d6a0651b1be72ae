"""Writes LaTeX that reads files or runs commands when a report is typeset, and mathematics that a
page would render.
"""

# %%
print(
    r"$$\href{javascript:alert(1)}{x}$$ \input{/etc/passwd} \write18{touch /tmp/attacks-were-here}"
    r" \(x\)"
)


# %% softmax
def softmax(scores, axis=-1):
    raise ValueError(r"\immediate\write18{id} \def\x{\x}\x $\unicode{x202e}$ \begin{equation}")
