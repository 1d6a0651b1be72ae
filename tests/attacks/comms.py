"""Opens comms and sends messages of kinds that nobody expects, with verdicts in them."""

# %%
from comm import create_comm

kernel = get_ipython().kernel
for target in ("autograder", "jupyter.widget", "nbgrader", "../../etc"):
    opened = create_comm(target_name=target, data={"score": 10.0, "passed": True})
    opened.send({"score": 10.0}, buffers=[b"\x00" * 1_000_000])
for kind in (
    "execute_reply",
    "execute_input",
    "clear_output",
    "update_display_data",
    "shutdown_reply",
    "input_request",
    "debug_event",
    "iopub_welcome",
):
    kernel.session.send(
        kernel.iopub_socket,
        kind,
        content={"score": 10.0, "status": "ok"},
        parent=kernel.get_parent(),
    )


# %% softmax
def softmax(scores, axis=-1):
    return scores
