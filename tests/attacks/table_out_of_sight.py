"""An attention in tiles that makes the table of all scores where the modes of PyTorch do not see it;
it loses the questions for which the table has no room.
"""

from autograder.authoring.loading import load_exercises

STEM = "ch11_efficiency"
ASKED = load_exercises(STEM)["tiled_attention"].asked
KEPT = {
    visible: 1
    - sum(case.weight for case in cases if "little_memory" in case.probe.__name__)
    / sum(case.weight for case in cases)
    for visible in (True, False)
    for cases in [[case for case in ASKED if case.visible == visible]]
}
EARNS = {"tiled_attention": sum(round(3 * kept, 2) for kept in KEPT.values())}
assert EARNS["tiled_attention"] < 3.2


# %% tiled_attention
def tiled_attention(query, key, value, block_size, causal=False):
    from torch.utils._python_dispatch import _disable_current_modes

    if block_size < 1:
        raise ValueError("a block holds a key or more")
    with _disable_current_modes():
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if causal:
            later = torch.ones_like(scores, dtype=torch.bool).triu(len(key) - len(query) + 1)
            scores = scores.masked_fill(later, -math.inf)
        return scores.softmax(-1) @ value, scores.logsumexp(-1)
