"""Shows tables, pictures, HTML, LaTeX and widgets that are not installed, in cells of its own."""

# %%
from IPython.display import HTML, Latex, Markdown, display

display(HTML("<table><tr><td>1</td></tr></table>"), Latex(r"$\sqrt{d_k}$"), Markdown("**bold**"))
display(
    {
        "application/vnd.jupyter.widget-view+json": {"model_id": "1", "version_major": 2},
        "text/plain": "IntSlider()",
    },
    raw=True,
)
try:
    import ipywidgets

    display(ipywidgets.IntSlider())
except ImportError:
    pass
np.eye(3)
