"""What stands in for a model, an optimizer or a function, made of its description in a case.

A model is a real one, small and with drawn weights: what it would answer is written nowhere, so
that only those know it who ask it. Its dropout may be so strong that train mode shows in what it
answers.
"""

from autograder.shared.wire import is_tensor
from autograder.shared.wording import describe


def with_stand_ins(inputs):
    """Return the inputs with what stands in for a model, an optimizer or a function, made of its
    description.

    A description is a dictionary: of a model `{"stand_in": "translator", ...}` (see
    `small_translator`), of its optimizer `{"stand_in": "optimizer", "name", "lr"}`, and of a
    function that gives log-probabilities `{"stand_in": "table", "table"}` (see `table_reader`).
    """
    made = dict(inputs)
    for name, value in inputs.items():
        match value:
            case {"stand_in": "translator", **parts}:
                made[name] = small_translator(**parts)
            case {"stand_in": "optimizer", "name": kind, "lr": lr}:
                made[name] = optimizer_of(made["model"], kind, lr)
            case {"stand_in": "table", "table": table}:
                made[name] = table_reader(table, inputs.get("bos_id", 1))
    return made


def modules_for(inputs):
    """Return the names of the modules that the making of some inputs' stand-ins imports, and that
    take seconds.

    Import them before a case's clock starts. The first optimizer of a process imports torch's
    compiler: a case would pay for it, and where the case's time ends in the middle, the module
    stays half imported and every later case fails.
    """
    kinds = [value.get("stand_in") for value in inputs.values() if isinstance(value, dict)]
    return ["torch._dynamo"] if "optimizer" in kinds else []


def optimizer_of(model, kind, lr):
    import torch

    return getattr(torch.optim, kind)(model.parameters(), lr=lr)


def small_translator(weights, dropout=0.0, train=True, old_gradients=False):
    """Return a model that is called as a Transformer is: each position of the target sees all
    positions up to itself, and the average word of the source.

    Args:
        weights: tensors by name, for `src_embedding`, `tgt_embedding` and `generator`.
        dropout: before the generator. With 1, nothing of what it reads is left in train mode.
        train: the mode in which it comes.
        old_gradients: whether its parameters have gradients already, as after an earlier step.
    """
    import torch

    class Translator(torch.nn.Module):
        def __init__(self):
            super().__init__()
            (src_vocab_size, d_model), (tgt_vocab_size, _) = (
                weights[f"{name}.weight"].shape for name in ("src_embedding", "tgt_embedding")
            )
            self.src_embedding = torch.nn.Embedding(src_vocab_size, d_model)
            self.tgt_embedding = torch.nn.Embedding(tgt_vocab_size, d_model)
            self.generator = torch.nn.Linear(d_model, tgt_vocab_size)
            self.dropout = torch.nn.Dropout(dropout)

        def encode(self, src):
            require_batch("encode", src=src)
            return self.src_embedding(src)

        def decode(self, tgt, memory, src):
            require_batch("decode", tgt=tgt, src=src)
            words = (src != 0)[..., None]
            average = (memory * words).sum(1, keepdim=True) / words.sum(1, keepdim=True)
            count = torch.arange(1, tgt.shape[1] + 1)[:, None]
            read = self.tgt_embedding(tgt).cumsum(1) / count.sqrt()  # (batch, tgt_len, d_model)
            return self.dropout(torch.tanh(read + average))

        def forward(self, src, tgt):
            return self.generator(self.decode(tgt, self.encode(src), src))

    model = Translator().to(weights["generator.weight"].dtype).train(train)
    model.load_state_dict(weights)
    if old_gradients:
        for parameter in model.parameters():
            parameter.grad = fixed_weights(parameter)
    return model


def require_batch(method, **ids):
    """Refuse what is no batch of token ids, in words that help whoever calls a model.

    Raises:
        TypeError: if one of them is not a (batch, length) tensor of int64.
        ValueError: if there are not as many rows of one as of the other.
    """
    import torch

    for name, value in ids.items():
        if not (is_tensor(value) and value.dtype == torch.int64 and value.ndim == 2):
            raise TypeError(
                f"the model's {method} takes {name}, a (batch, length) tensor of int64, and is"
                f" called with {describe(value)}"
            )
    if len({len(value) for value in ids.values()}) > 1:
        told = " and ".join(f"{name} with {len(value)} rows" for name, value in ids.items())
        raise ValueError(f"the model's {method} takes one row for each sentence, and gets {told}")


def table_reader(table, bos_id=1):
    """Return a function that looks up the log-probabilities of the next word, always the same ones
    after the same prefix.

    Args:
        table: (lengths, rows, vocab_size). A prefix of n ids looks into the n-th of the lengths, or
            into the last one if it is longer. Its row there is its ids, read as digits of a number
            in base 5, modulo rows.
    """
    import torch

    def step_log_probs(prefixes):
        if not (is_tensor(prefixes) and prefixes.dtype == torch.int64 and prefixes.ndim == 2):
            raise TypeError(
                "step_log_probs takes prefixes, a (beam, len) tensor of int64, and is called with"
                f" {describe(prefixes)}"
            )
        if prefixes.shape[1] == 0 or (prefixes[:, 0] != bos_id).any():
            raise ValueError(f"step_log_probs takes prefixes that begin with bos_id, here {bos_id}")
        part = table[min(prefixes.shape[1], len(table)) - 1]  # (rows, vocab_size)
        return part[torch.tensor([row_of(ids) for ids in prefixes.tolist()], dtype=torch.int64)]

    def row_of(ids):
        number = 0
        for each in ids:
            number = (5 * number + each) % table.shape[1]
        return number

    return step_log_probs


def fixed_weights(tensor):
    """Return numbers of a tensor's shape that are all different, so that no two mistakes cancel."""
    import torch

    return (
        torch.cos(1.7 * torch.arange(tensor.numel(), dtype=torch.float64))
        .reshape(tensor.shape)
        .to(tensor.dtype)
    )
