"""Several copying machines of one form at once: their parameters are stacked into one tensor for
each name, (models, *shape of one), so that one product computes all of them.
"""

import torch
from torch.nn import functional


def logits_of(parameters, token_ids):
    """Compute what `Copier.forward` computes, for several models.

    Args:
        parameters: dict: name -> (models, *shape of one).
        token_ids: (seq_len, models, batch) int64.

    Returns:
        (seq_len, models, batch, words) logits.
    """

    table = parameters["embedding.weight"]  # (models, words + 1, d_model)

    def embedded(ids):  # a one-hot row times the table: chapter 1's lookup
        return functional.one_hot(ids, table.shape[1]).float() @ table

    begin = torch.full_like(token_ids[:1], table.shape[1] - 1)
    keys = states_of(parameters, "reader", embedded(token_ids))
    so_far = embedded(torch.cat([begin, token_ids[:-1]]))
    last = keys[-1]
    if "reader.narrow.weight" in parameters:  # see copy_squeezed
        last = last @ parameters["reader.narrow.weight"].mT @ parameters["reader.widen.weight"].mT
    queries = states_of(parameters, "writer", so_far, last)
    context = last.expand_as(queries)
    if "v.weight" in parameters:
        projected = [
            (states @ parameters[name].mT).permute(1, 2, 0, 3)  # (models, batch, seq_len, ...)
            for states, name in ((queries, "w_query.weight"), (keys, "w_key.weight"))
        ]
        sums = (projected[0].unsqueeze(3) + projected[1].unsqueeze(2)).tanh()
        scores = (sums * parameters["v.weight"][:, None, None, None, 0]).sum(dim=-1)
        context = (scores.softmax(dim=-1) @ keys.permute(1, 2, 0, 3)).permute(2, 0, 1, 3)
    both = torch.cat([queries, context], dim=-1)
    return both @ parameters["output.weight"].mT + parameters["output.bias"].unsqueeze(1)


def states_of(parameters, name, x, state=None):
    """Compute what `nn.GRU` computes, for several models.

    Args:
        x: (seq_len, models, batch, d_model).
        state: (models, batch, d_hidden) to begin with, or None for zeros.

    Returns:
        (seq_len, models, batch, d_hidden) states.
    """
    w_input, w_hidden, b_input, b_hidden = (
        parameters[f"{name}.{each}_l0"] for each in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    d_hidden = w_hidden.shape[-1]
    if state is None:
        state = x.new_zeros(*x.shape[1:3], d_hidden)
    parts = (2 * d_hidden, d_hidden)  # the two gates, and the candidate
    from_words = (x @ w_input.mT + b_input.unsqueeze(1)).split(parts, dim=-1)
    states = []
    for gates_of_word, candidate_of_word in zip(*from_words, strict=True):
        from_state = torch.baddbmm(b_hidden.unsqueeze(1), state, w_hidden.mT)
        gates, candidate = from_state.split(parts, dim=-1)
        reset, keep = (gates_of_word + gates).sigmoid().chunk(2, dim=-1)
        candidate = torch.addcmul(candidate_of_word, reset, candidate).tanh()
        state = torch.lerp(candidate, state, keep)
        states.append(state)
    return torch.stack(states)


def clipped_in_place(parameters, max_norm=1.0):
    """Shorten the gradient of each model to a norm of at most `max_norm`, in place.

    Args:
        parameters: tensors (models, *shape of one) with gradients.
    """
    gradients = [each.grad.flatten(1) for each in parameters]  # views, (models, numbers)
    squares = sum(each.square().sum(dim=1, keepdim=True) for each in gradients)
    factors = (max_norm / (squares.sqrt() + 1e-6)).clamp(max=1.0)
    for each in gradients:
        each.mul_(factors)
