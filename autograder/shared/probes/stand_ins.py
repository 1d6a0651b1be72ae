"""What stands in for a model, an optimizer or a function, made of its description in a case.

A model is a real one, small and with drawn weights: what it would answer is written nowhere, so
that only those know it who ask it. Its dropout may be so strong that train mode shows in what it
answers.
"""

import numpy as np

from autograder.shared.probes.small_modules import gated_loss, linear_layer
from autograder.shared.wire import is_tensor
from autograder.shared.wording import describe

IMPORTING_THE_COMPILER = ("returned_in_tiles", "returned_in_little_memory")


def with_stand_ins(inputs):
    """Return the inputs with what stands in for a model, an optimizer or a function, made of its
    description.

    A description is a dictionary: of a model `{"stand_in": "translator", ...}` (see
    `small_translator`), of its optimizer `{"stand_in": "optimizer", "name", "lr"}`, of a function
    that gives log-probabilities `{"stand_in": "table", "table"}` (see `table_reader`), of a module
    that is only looked at `{"stand_in": "module", ...}` (see `module_of_parts`), of a function from
    rows to rows `{"stand_in": "encoder", ...}` (see `small_encoder`), of one of torch's dtypes
    `{"stand_in": "dtype", "name"}`, of a set of pairs `{"stand_in": "pairs", "pairs"}`, of those
    in `small_modules` `{"stand_in": "gated_loss", ...}` and `{"stand_in": "linear", ...}`, and of
    those in `autograder.shared.parts` `{"stand_in": "attention", ...}` and
    `{"stand_in": "norm", ...}`.
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
            case {"stand_in": "module", **parts}:
                made[name] = module_of_parts(**parts)
            case {"stand_in": "encoder", **parts}:
                made[name] = small_encoder(**parts)
            case {"stand_in": "dtype", "name": dtype}:
                made[name] = dtype_named(dtype)
            case {"stand_in": "pairs", "pairs": pairs}:
                made[name] = set(pairs)
            case {"stand_in": "attention", **parts}:
                from autograder.shared.parts import small_attention  # few sandboxes have it

                made[name] = small_attention(**parts)
            case {"stand_in": "gated_loss", **parts}:
                made[name], _ = gated_loss(**parts)
            case {"stand_in": "norm", **parts}:
                from autograder.shared.parts import small_norm

                made[name] = small_norm(**parts)
            case {"stand_in": "linear", **parts}:
                made[name] = linear_layer(**parts)
            case dict() if name == "forward":  # the arguments of a call, beside other parts
                made[name] = with_stand_ins(value)
    return made


def modules_for(case):
    """Return the names of the modules that the making of a case's stand-ins imports, or what a
    learner's function calls in it, and that take seconds.

    Import them before a case's clock starts. The first optimizer of a process imports torch's
    compiler, and so do the first mode that sees tensors made and the first `torch.func.grad`: a
    case would pay for it, and where the case's time ends in the middle, the module stays half
    imported and every later case fails.
    """
    kinds = {value.get("stand_in") for value in case.inputs.values() if isinstance(value, dict)}
    needed = kinds & {"optimizer", "gated_loss"} or case.probe in IMPORTING_THE_COMPILER
    return ["torch._dynamo"] if needed else []


def dtype_named(name):
    import torch

    return getattr(torch, name)


def optimizer_of(model, kind, lr):
    import torch

    return getattr(torch.optim, kind)(model.parameters(), lr=lr)


def small_translator(
    weights, dropout=0.0, train=True, old_gradients=False, asked=None, answered=None
):
    """Return a model that is called as a Transformer is: each position of the target sees all
    positions up to itself, and the average word of the source.

    Args:
        weights: tensors by name, for `src_embedding`, `tgt_embedding` and `generator`.
        dropout: before the generator. With 1, nothing of what it reads is left in train mode.
        train: the mode in which it comes.
        old_gradients: whether its parameters have gradients already, as after an earlier step.
        asked: called before each answer with the name of the method and its token ids, if given.
        answered: called with what a method returns, if given.
    """
    import torch

    def given(answer):
        if answered:
            answered(answer)
        return answer

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
            if asked:
                asked("encode", src)
            return given(self.src_embedding(src))

        def decode(self, tgt, memory, src):
            require_batch("decode", tgt=tgt, src=src)
            if asked:
                asked("decode", tgt)
            words = (src != 0)[..., None]
            average = (memory * words).sum(1, keepdim=True) / words.sum(1, keepdim=True)
            count = torch.arange(1, tgt.shape[1] + 1)[:, None]
            read = self.tgt_embedding(tgt).cumsum(1) / count.sqrt()  # (batch, tgt_len, d_model)
            return given(self.dropout(torch.tanh(read + average)))

        def forward(self, src, tgt):
            return self.generator(self.decode(tgt, self.encode(src), src))

    model = Translator().to(weights["generator.weight"].dtype).train(train)
    model.load_state_dict(weights)
    if old_gradients:
        for parameter in model.parameters():
            parameter.grad = fixed_weights(parameter)
    return model


def small_encoder(mix, weights, positions=None, in_place=False, asked=None):
    """Return a function that encodes rows: from (seq_len, d_model) to the same shape and dtype.

    Args:
        mix: of which rows each new row is made: "none" of its own alone, "mean" of all, "attention"
            of all by how alike they are, "earlier" of its own and those before it; "backwards"
            computes nothing, and returns a view of its argument, the last row first.
        weights: (d_model, d_model), by which each row is multiplied.
        positions: (seq_len, d_model), added to the rows first, if given.
        in_place: whether the new rows are written into the argument, which is then returned.
        asked: called with the rows before each answer, if given.
    """

    def encode(x):
        require_rows(x, len(weights), None if positions is None else len(positions))
        if asked:
            asked(x)
        if mix == "backwards":
            return x[::-1]
        placed = x if positions is None else x + positions
        rows = np.tanh(placed @ weights)  # (seq_len, d_model)
        rows = (rows + mixed(rows, mix)).astype(x.dtype)
        if in_place:
            x[...] = rows
            return x
        return rows

    return encode


def mixed(rows, mix):
    """Return what a `small_encoder` adds to its rows."""
    seq_len = len(rows)
    shares = {
        "none": np.zeros((seq_len, seq_len)),
        "mean": np.full((seq_len, seq_len), 1 / seq_len),
        "earlier": np.tril(np.ones((seq_len, seq_len))) / np.arange(1, seq_len + 1)[:, np.newaxis],
    }
    if mix != "attention":
        return shares[mix] @ rows
    alike = np.exp(rows @ rows.T)  # small numbers: nothing overflows
    return alike / alike.sum(axis=-1, keepdims=True) @ rows


def require_rows(x, d_model, seq_len=None):
    """Refuse what is no array of rows, in words that help whoever calls an encoder.

    Raises:
        TypeError: if it is no floating NumPy array.
        ValueError: if its shape is not (seq_len, d_model).
    """
    if not (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        raise TypeError(f"encode takes a floating array, and is called with {describe(x)}")
    if x.ndim != 2 or x.shape[1] != d_model or seq_len not in (None, len(x)):
        rows = "(seq_len, d_model)" if seq_len is None else f"({seq_len}, {d_model})"
        raise ValueError(f"encode takes an array of shape {rows}, and is called with {describe(x)}")


def module_of_parts(parameters, shared=None, again=None, buffers=None, frozen=()):
    """Return a module that holds parameters of zeros and computes nothing.

    Args:
        parameters: shape and torch's name of the dtype, by dotted name: `{"output.bias": ((5,),
            "float32")}`.
        shared: further names of parameters that are there already, by the new name.
        again: further names of inner modules that are there already, by the new name.
        buffers: as `parameters`.
        frozen: names of parameters that training leaves alone.
    """
    import torch

    root = torch.nn.Module()

    def inner(path):
        module = root
        for name in path:
            if name not in dict(module.named_children()):
                module.add_module(name, torch.nn.Module())
            module = getattr(module, name)
        return module

    def zeros(shape, dtype):
        return torch.zeros(shape, dtype=dtype_named(dtype))

    for name, described in parameters.items():
        *path, last = name.split(".")
        made = torch.nn.Parameter(zeros(*described), requires_grad=name not in frozen)
        inner(path).register_parameter(last, made)
    for name, described in (buffers or {}).items():
        *path, last = name.split(".")
        inner(path).register_buffer(last, zeros(*described))
    for name, old in (shared or {}).items():
        *path, last = name.split(".")
        inner(path).register_parameter(last, root.get_parameter(old))
    for name, old in (again or {}).items():
        *path, last = name.split(".")
        inner(path).add_module(last, root.get_submodule(old))
    return root


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
