"""Sends what is no message: contents of the wrong type, missing parts, parts that are no JSON, a
thousand parts, wrong signatures.
"""

# %%
kernel = get_ipython().kernel
for content in (
    [1],
    None,
    {"data": [2]},
    {"text": {}},
    {"data": {"text/plain": {"a": []}}},
    {"ename": [], "evalue": {}},
):
    for kind in ("stream", "display_data", "execute_result", "error", "status", ""):
        kernel.session.send(kernel.iopub_socket, kind, content=content, parent=kernel.get_parent())
send = kernel.iopub_socket.send_multipart
send([b"<IDS|MSG>", b"", b"{", b"{", b"{", b"{"])
send([b"<IDS|MSG>"] * 1_000)
send([b""])
send([b"x", b"<IDS|MSG>", b"wrong", b"{}", b"{}", b"{}", b"{}"])
send(
    [
        b"<IDS|MSG>",
        kernel.session.sign([b"[" * 100_000, b"{}", b"{}", b"{}"]),
        b"[" * 100_000,
        b"{}",
        b"{}",
        b"{}",
    ]
)


# %% softmax
def softmax(scores, axis=-1):
    return scores
