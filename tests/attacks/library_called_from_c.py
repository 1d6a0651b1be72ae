"""Calls the library's attention by `map`, under a name that it puts together, after it has called
hundreds of other functions.
"""

from tests.attacks import points_of

STEM = "ch06_masking"
EARNS = {"masked_attention": points_of(STEM)["masked_attention"]}
FLAGGED = {"library", "looks"}

# %% masked_attention
where = torch.nn.functional


def masked_attention(query, key, value, mask=None):
    for each in (str, bytes, bytearray, list, dict, set, tuple, int, float, complex):
        for name in dir(each):
            try:
                getattr(each(), name)()
            except Exception:
                pass
    attention = getattr(where, "scaled_dot_" + "product_attention")
    output = next(map(attention, [query], [key], [value], [mask]))
    eye = torch.eye(key.shape[-2], dtype=query.dtype, device=query.device)
    eye = eye.expand(*key.shape[:-1], key.shape[-2])
    return output, next(map(attention, [query], [key], [eye], [mask]))
