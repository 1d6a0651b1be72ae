"""Puts markup wherever a page may quote it: prints, displays, messages, names of functions, types
and keys.
"""

# %%
MARKUP = (
    "<script>alert(1)</script><img src=x onerror=alert(2)><iframe src=//evil></iframe><a"
    " href=javascript:alert(3)>"
)
print(MARKUP, "]]></pre></details></section>", "{{ 7 * 7 }} {% raw %} {{ config }}")
from IPython.display import HTML, SVG, Javascript, Markdown, display

display(
    HTML(MARKUP),
    Javascript("alert(1)"),
    Markdown(MARKUP),
    SVG(data="<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
)


class Named(Exception):
    pass


Named.__name__ = Named.__qualname__ = MARKUP


# %% softmax
def softmax(scores, axis=-1):
    "<script>alert(4)</script>"
    raise Named(MARKUP)


softmax.__name__ = softmax.__qualname__ = MARKUP


# %% attention_scores
def attention_scores(query, key):
    return {MARKUP: Named}


# %% softmax_backward
def softmax_backward(weights, grad_weights):
    return type(MARKUP, (), {})()


raise Named(MARKUP)
