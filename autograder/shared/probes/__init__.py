"""What an exercise's function is asked, and what is noted of its answer.

A probe is a small function that observes an implementation: `probe(implementation, inputs) ->
dict[str, value]`. `inputs` maps parameter names to arguments, in the order of the signature. The
same probe observes the learner's function, in the learner's process, and the reference, in the
grader's. It decides nothing; `autograder.shared.judge` compares the two observations. This module
is all of the checks that a learner's process needs, and it holds no answer.

The inputs of a case may have parts instead: `forward`, the arguments of the call; `changed`,
arguments to replace in a second one; and where the exercise is a class `constructor`, the arguments
that make the module, `weights`, tensors by parameter name that it is given, `train`, whether it is
called in train mode, and `method`, if that is another than `forward`. An observation has a
`result`, or things `noted` by name, or both.
"""

import dis
import inspect
import linecache
import time
import traceback
import warnings
from types import MethodType

import numpy as np

from autograder.shared.wire import PLAIN_TYPES, Opaque, Tensor, decode, encode, is_tensor, plain

ANSWER_MIME = "application/vnd.autograder.answer+json"
MOMENT = 0.05  # seconds
LONGEST_MESSAGE = 500_000  # characters, after which no further answer is added to one
ROUNDS = 400  # in which each of a few things that are dropped at random is dropped and kept at least once
MOVED = 1e-6  # less than this is rounding
FITTED, MOST_FITTED = {}, 1000  # functions that could be called, by what was asked


class Unfit(Exception):
    """The implementation cannot be asked; says why, as a clause about it."""


def returned(implementation, inputs):
    """Note what the function returns."""
    function, arguments = prepared_call(implementation, inputs)
    return {"result": function(*arguments.values())}


def arguments_after(implementation, inputs):
    """Note which arguments the call has changed. Expected: none."""
    function, arguments = prepared_call(implementation, inputs)
    before = plain(arguments)
    function(*arguments.values())
    return {
        "changed": [
            name
            for name, value in arguments.items()
            if encode(plain(value)) != encode(before[name])
        ]
    }


def returned_for_generator(implementation, inputs):
    """Note what the function returns when its first argument is a generator, which can be read only
    once.
    """
    name, first = next(iter(inputs.items()))
    return returned(implementation, {**inputs, name: (item for item in first)})


def returned_for_views(implementation, inputs):
    """Note what the function returns for tensors whose numbers do not lie side by side in
    memory.
    """
    function, arguments = prepared_call(implementation, inputs)
    return {"result": function(*map(as_view, arguments.values()))}


def gradients(implementation, inputs):
    """Note the gradient of a fixed weighted sum of everything returned, with respect to each
    floating argument and each weight.
    """
    import torch

    function, arguments = prepared_call(implementation, inputs)
    leaves = {
        f"the gradient with respect to {name}": value.requires_grad_()
        for name, value in arguments.items()
        if is_tensor(value) and value.is_floating_point()
    }
    if "constructor" in inputs:
        parameters = dict(function.__self__.named_parameters(remove_duplicate=False))
        leaves |= {f"the gradient of {name}": parameters[name] for name in inputs["weights"]}
    result = function(*arguments.values())
    outputs = [
        each
        for each in (result if isinstance(result, tuple | list) else [result])
        if is_tensor(each)
    ]
    total = sum(
        (output * fixed_weights(output)).sum() for output in outputs if output.is_floating_point()
    )
    if not (is_tensor(total) and total.requires_grad):
        return {
            "noted": dict.fromkeys(
                leaves, Opaque("missing, for the result no longer knows where it came from")
            )
        }
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    missing = Opaque("missing: the result does not depend on it")
    return {
        "noted": {
            name: missing if each is None else each
            for name, each in zip(leaves, found, strict=True)
        },
    }


def moved(implementation, inputs):
    """Note at which positions the result moves when arguments are replaced by those in the inputs'
    part `changed`.
    """
    function, arguments = prepared_call(implementation, inputs)
    before, after = (
        first_of(function(*each.values()))
        for each in (arguments, {**arguments, **inputs["changed"]})
    )
    names = " and ".join(inputs["changed"])
    return {
        "noted": {
            f"where the result moves when {names} changes": ((after - before).abs() > MOVED).any(-1)
        }
    }


def device_kept(implementation, inputs):
    """Note on which device the result would lie, where the argument `device` is another than
    torch's default, or tensors lie elsewhere.

    The machine needs no such device: each tensor stays where it is, and a label says where it would
    be.
    """
    function, arguments = prepared_call(implementation, inputs)
    labels = device_labels()
    for value in arguments.values():
        if is_tensor(value):
            labels.put(value, "meta")
    with labels:
        result = first_of(function(*arguments.values()))
    return {"noted": {"the device of the result": labels.of(result)}}


def extremes(implementation, inputs):
    """Note the smallest and the largest value of each number of the result over many rounds,
    between which dropout throws it.

    The rounds go through together, as one batch: tensors as long as the first one, along the batch,
    are repeated.
    """
    function, arguments = prepared_call(implementation, inputs)
    batch = next(len(value) for value in arguments.values() if is_tensor(value))
    repeated = {
        name: (
            value.repeat(ROUNDS, *[1] * (value.ndim - 1))
            if is_tensor(value) and len(value) == batch
            else value
        )
        for name, value in arguments.items()
    }
    result = first_of(function(*repeated.values()))
    rounds = result.unflatten(0, (ROUNDS, batch))  # (rounds, batch, ...)
    return {
        "noted": {
            f"the smallest of {ROUNDS} results": rounds.amin(dim=0),
            f"the largest of {ROUNDS} results": rounds.amax(dim=0),
        }
    }


def at_the_start(implementation, inputs):
    """Note a new module's parameters, by name and shape, and what those named in the inputs' part
    `shown` hold.
    """
    module = module_of(implementation, {**inputs, "weights": {}})
    parameters = dict(module.named_parameters(remove_duplicate=False))
    table = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
    shown = {f"{name} of a new module": parameters.get(name) for name in inputs.get("shown", ())}
    return {"noted": {"the table of its parameters": table, **shown}}


def returned_number(implementation, inputs):
    """Note the number that the function returns."""
    return {"result": python_number(implementation(*inputs.values()))}


def updated(implementation, inputs):
    """Note what a training function returns, and how it has changed the model that it was given.

    Changes are noted in float32: right answers clip by factors that differ by a millionth. What it
    returns is a result in float64 alone, for a Python number does not say how many of its digits
    count.
    """
    model, optimizer, *others = with_stand_ins(inputs).values()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    as_told = encode(plain(others))
    returned = python_number(implementation(model, optimizer, *others))
    noted = {
        f"the change of {name}": (parameter.detach() - before[name]).float()
        for name, parameter in model.named_parameters()
    }
    noted["the model's `training` afterwards"] = all(module.training for module in model.modules())
    noted["the optimizer's learning rate afterwards"] = optimizer.param_groups[0]["lr"]
    noted["whether src and tgt stay as they were"] = encode(plain(others)) == as_told
    result = {"result": returned} if str(model.generator.weight.dtype) == "torch.float64" else {}
    return {**result, "noted": noted}


def searched(implementation, inputs):
    """Note what a search returns that asks a table for log-probabilities."""
    result = implementation(*with_stand_ins(inputs).values())
    return {
        "result": [python_number(each) for each in result] if isinstance(result, list) else result
    }


def searched_among_equals(implementation, inputs):
    """Note how long and how likely the result of a search is, where several are equally right."""
    result = searched(implementation, inputs)["result"]
    step_log_probs, *_ = with_stand_ins(inputs).values()
    vocab_size = inputs["step_log_probs"]["table"].shape[-1]
    if not isinstance(result, list) or not all(
        type(each) is int and 0 <= each < vocab_size for each in result
    ):
        raise Unfit(f"returns {describe(result)}, not a list of ids")
    ids = [inputs.get("bos_id", 1), *result, inputs.get("eos_id", 2)]
    steps = [
        float(log_prob_after(step_log_probs, ids[:length])[ids[length]])
        for length in range(1, len(ids))
    ]
    return {
        "noted": {
            "the number of words in the result": len(result),
            "their log-probability": sum(steps[:-1]) + 0.0,
            "the log-probability of the end after them": steps[-1],
        }
    }


def log_prob_after(step_log_probs, prefix):
    import torch

    return step_log_probs(torch.tensor([prefix]))[0]


def decoded(implementation, inputs):
    """Note what a decoding function makes of a model that follows a script, and how it treats that
    model.

    In place of the first argument, the model, the inputs hold `{"script": ..., "train": ...}`: the
    ids that it wants to write after `<bos>`, row by row, and the mode in which it comes.
    """
    import torch

    model, *others = with_stand_ins(inputs).values()
    with torch.enable_grad():
        result = implementation(model, *others)
    return {
        "result": result,
        "noted": {
            "the model's `training` afterwards": model.training,
            "whether the model was called in train mode": model.called_in_train_mode,
            "whether the model was called with gradients on": model.called_with_gradients,
        },
    }


PROBES = {
    probe.__name__: probe
    for probe in (
        returned,
        arguments_after,
        returned_for_generator,
        returned_for_views,
        gradients,
        moved,
        device_kept,
        extremes,
        at_the_start,
        decoded,
        returned_number,
        updated,
        searched,
        searched_among_equals,
    )
}


def prepared_call(implementation, inputs):
    """Return what to call and with which arguments: the function itself, or a method of a module
    made for the case.
    """
    arguments = inputs.get("forward", inputs)
    if "constructor" not in inputs:
        return implementation, arguments
    name = inputs.get("method", "forward")
    method = getattr(module_of(implementation, inputs), name, None)
    if not callable(method):
        raise Unfit(f"has no method {name}")
    complaint = complaint_about_signature(method, arguments)
    if complaint:
        raise Unfit(f"has a method {name} that {complaint}")
    return method, arguments


def module_of(implementation, inputs):
    """Make a module, and give it the weights of the case."""
    import torch

    module = implementation(*inputs["constructor"].values())
    if not isinstance(module, torch.nn.Module):
        raise Unfit(f"makes {describe(module)}, not an nn.Module")
    own = dict(module.named_parameters(remove_duplicate=False))
    weights = inputs["weights"]
    for name, weight in weights.items():
        if name not in own:
            raise Unfit(f"has no parameter {name}; it has {', '.join(own) or 'none'}")
        if own[name].shape != weight.shape:
            raise Unfit(
                f"has {name} of shape {tuple(own[name].shape)}, but it should have"
                f" {tuple(weight.shape)}"
            )
    wanted = {weight.dtype for weight in weights.values()}
    others = [*(own[name] for name in own.keys() - weights.keys()), *module.buffers()]
    if any(each.is_floating_point() and {each.dtype} != wanted for each in others):
        for dtype in wanted:
            module.to(dtype)
    with torch.no_grad():
        for name, weight in weights.items():
            if own[name].dtype == weight.dtype:
                own[name].copy_(weight)
            else:  # what module.to(dtype) does, without looking through the whole module
                own[name].data = weight
    return module.train(inputs.get("train", False))


def with_stand_ins(inputs):
    """Return the inputs with what stands in for a model, an optimizer or a function, made of its
    description.

    A description is a dictionary: of a model `{"script", "train"}` (see `scripted_model`) or
    `{"stand_in": "translator", ...}` (see `small_translator`), of its optimizer `{"stand_in":
    "optimizer", "name", "lr"}`, and of a function that gives log-probabilities `{"stand_in":
    "table", "table"}` (see `table_reader`).
    """
    made = dict(inputs)
    for name, value in inputs.items():
        match value:
            case {"script": script, "train": train}:
                model = scripted_model(script, inputs.get("bos_id", 1), inputs.get("eos_id", 2))
                made[name] = model.train(train)
            case {"stand_in": "translator", **parts}:
                made[name] = small_translator(**parts)
            case {"stand_in": "optimizer", "name": kind, "lr": lr}:
                made[name] = optimizer_of(made["model"], kind, lr)
            case {"stand_in": "table", "table": table}:
                made[name] = table_reader(table, inputs.get("bos_id", 1))
    return made


def optimizer_of(model, kind, lr):
    import torch

    return getattr(torch.optim, kind)(model.parameters(), lr=lr)


def small_translator(weights, dropout=0.0, train=True, old_gradients=False):
    """Return a model that is called as a Transformer is: each position of the target sees itself
    and the average word of the source.

    Args:
        weights: tensors by name, for `src_embedding`, `tgt_embedding` and `generator`.
        dropout: before the generator.
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
            return self.src_embedding(src)

        def decode(self, tgt, memory, src):
            words = (src != 0)[..., None]
            average = (memory * words).sum(1, keepdim=True) / words.sum(1, keepdim=True)
            return self.dropout(torch.tanh(self.tgt_embedding(tgt) + average))

        def forward(self, src, tgt):
            return self.generator(self.decode(tgt, self.encode(src), src))

    model = Translator().to(weights["generator.weight"].dtype).train(train)
    model.load_state_dict(weights)
    if old_gradients:
        for parameter in model.parameters():
            parameter.grad = fixed_weights(parameter)
    return model


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


def scripted_model(script, bos_id=1, eos_id=2):
    """Return a model that writes, row by row, what a script says, as long as what was written so
    far is what the script said.

    Args:
        script: (batch, length) int64 tensor, without `<bos>`. Behind the script's end, and after a
            wrong prefix, the model repeats its last id plus one. The source's first column counts
            the rows.
    """
    import torch

    vocab_size = int(script.max()) + 2

    class Scripted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.generator = torch.nn.Linear(
                vocab_size + 1, vocab_size
            )  # turns feature i + 1 into word i
            with torch.no_grad():
                self.generator.weight.copy_(torch.eye(vocab_size + 1)[1:])
                self.generator.bias.zero_()
            self.called_in_train_mode = False
            self.called_with_gradients = False

        def note(self):
            self.called_in_train_mode |= self.training
            self.called_with_gradients |= torch.is_grad_enabled()

        def encode(self, src):
            self.note()
            return (src[:, :, None] * torch.ones(vocab_size)).float()

        def decode(self, tgt, memory, src):
            self.note()
            rows = [
                self.next_ids(ids.tolist(), int(row[0, 0]) - FIRST_ROW)
                for ids, row in zip(tgt, memory, strict=True)
            ]
            return torch.nn.functional.one_hot(torch.tensor(rows) + 1, vocab_size + 1).float()

        def next_ids(self, ids, row):
            wanted = [bos_id, *script[row].tolist()]
            return [
                (
                    wanted[length]
                    if length < len(wanted) and agree(ids[:length], wanted[:length])
                    else vocab_size - 1
                )
                for length in range(1, len(ids) + 1)
            ]

        def forward(self, src, tgt):
            return self.generator(self.decode(tgt, self.encode(src), src))

    def agree(ids, wanted):
        end = wanted.index(eos_id) + 1 if eos_id in wanted else len(wanted)
        return ids[:end] == wanted[:end]  # what stands behind the end is the caller's affair

    return Scripted()


FIRST_ROW = 4  # the id in a source's first column that stands for the script's first row; smaller ones are special tokens


def device_labels():
    """Return a context in which every tensor has a label that says on which device it would be,
    without being there.

    What is made without a device has the label "cpu"; what is computed has that of its operands,
    which must agree.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    class DeviceLabels(TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.known = {}  # the tensors stay with their labels, so that no other one gets their id

        def put(self, tensor, label):
            self.known[id(tensor)] = (tensor, label)

        def of(self, tensor):
            return self.known.get(id(tensor), (tensor, "cpu"))[1]

        def __torch_function__(self, function, types, arguments=(), named=None):
            named = dict(named or {})
            name = getattr(function, "__name__", "")
            if getattr(function, "__self__", None) is torch.Tensor.device:  # x.device
                return torch.device(self.of(arguments[0]))
            asked = named.pop("device", None)
            if name == "to":
                places = [each for each in arguments[1:] if isinstance(each, str | torch.device)]
                places += [self.of(each) for each in arguments[1:] if is_tensor(each)]
                asked = places[0] if places else asked
                arguments = [each for each in arguments if not isinstance(each, str | torch.device)]
            elif name == "cpu":
                asked = "cpu"
            label = (
                torch.device(asked).type
                if asked is not None
                else self.common(name, arguments, named)
            )
            result = (
                function(*arguments, **named)
                if name != "to" or len(arguments) + len(named) > 1
                else arguments[0]
            )
            for each in result if isinstance(result, tuple | list) else [result]:
                if is_tensor(each) and self.known.get(id(each), (each, label))[1] == label:
                    self.put(each, label)
                elif is_tensor(each):  # the same tensor, asked for elsewhere
                    result = each.clone()
                    self.put(result, label)
            return result

        def common(self, name, arguments, named):
            """Return the label of the operands; numbers in tensors without an axis go with any
            device, and indices do.
            """
            tensors = list(tensors_in([arguments, list(named.values())]))
            if name in ("__getitem__", "__setitem__", "copy_"):
                tensors = tensors[:1]
            counted = [each for each in tensors if each.ndim] or tensors
            labels = list(dict.fromkeys(self.of(each) for each in counted))
            if not any(each.ndim for each in counted) and len(labels) > 1:
                labels.remove("cpu")
            if len(labels) > 1:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found"
                    f" {' and '.join(labels)}"
                )
            return labels[0] if labels else "cpu"

    return DeviceLabels()


def tensors_in(value):
    """Yield the tensors in nested lists and tuples."""
    if is_tensor(value):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_in(item)


def python_number(value):
    """Return one of NumPy's numbers as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def first_of(result):
    """Return the first of several returned values, or the only one."""
    return result[0] if isinstance(result, tuple | list) else result


def fixed_weights(tensor):
    """Return numbers of a tensor's shape that are all different, so that no two mistakes cancel."""
    import torch

    return (
        torch.cos(1.7 * torch.arange(tensor.numel(), dtype=torch.float64))
        .reshape(tensor.shape)
        .to(tensor.dtype)
    )


def as_view(value):
    """Return an equal tensor whose numbers do not lie side by side; anything else as it is."""
    if not is_tensor(value) or value.ndim == 0:
        return value
    return value.mT.contiguous().mT if value.ndim > 1 else value.repeat_interleave(2)[::2]


def live(value):
    """Return a plain value with torch tensors where it describes them; they share its memory."""
    if type(value) in PLAIN_TYPES:
        return value
    match value:
        case Tensor():
            import torch

            return torch.from_numpy(value.values).to(getattr(torch, value.dtype))
        case dict():
            return {key: live(item) for key, item in value.items()}
        case tuple() | list():
            return type(value)(map(live, value))
        case _:
            return value


def observe(probe, implementation, inputs):
    """Run a probe and reduce what it notes to data; an exception is noted too.

    Returns:
        dict: the probe's observation, or `{"raised": {...}}` or `{"unfit": ...}`, which tells why
            there is none.
    """
    if not callable(implementation):
        return {"unfit": f"is {describe(implementation)}, not a function"}
    arguments = inputs.get("constructor", inputs.get("forward", inputs))
    complaint = complaint_about_signature(implementation, arguments)
    if complaint:
        return {"unfit": complaint}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return plain(PROBES[probe](implementation, live(inputs)))
    except Unfit as reason:
        return {"unfit": str(reason)}
    except (Exception, SystemExit) as error:
        return {"raised": note_of_exception(error)}


def complaint_about_signature(implementation, inputs):
    """Return why the function cannot be called with these arguments by name, or None.

    A function is asked many times, and to take its signature apart takes as long as many an answer:
    what fitted once is remembered.
    """
    function = implementation.__func__ if type(implementation) is MethodType else implementation
    asked = id(function), function is implementation, len(inputs)
    if FITTED.get(asked) is function:
        return None
    try:
        signature = inspect.signature(implementation)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*inputs.values())
    except TypeError:
        return (
            f"takes {str(signature)[:120]}, and is called with ({', '.join(inputs)}); keep the"
            " stub's first line"
        )
    if len(FITTED) >= MOST_FITTED:
        FITTED.clear()
    FITTED[asked] = function
    return None


def note_of_exception(error):
    """Return what a learner needs to know of an exception: its type, its message, and where in
    their own code it arose.
    """
    line, source, function = None, "", ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if is_notebook_cell(frame.f_code.co_filename):
            line, source = number, linecache.getline(frame.f_code.co_filename, number).strip()
            function = frame.f_code.co_qualname
    stub = isinstance(error, NotImplementedError) and not str(error)
    try:
        message = str(error)
    except Exception:
        message = ""
    return {
        "type": type(error).__name__[:80],
        "bases": [base.__name__[:80] for base in type(error).__mro__],
        "message": message[:300],
        "line": line,
        "source": source[:120],
        "function": function[:80],
        "stub": stub,
        "deliberate": raised_on_purpose(error),
    }


def raised_on_purpose(error):
    """Return whether an exception came from a `raise` statement, not from an operation that
    failed.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return (
        last is not None
        and dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    )


def is_notebook_cell(filename):
    return "ipykernel_" in filename or filename.startswith("<ipython-input")


def describe(value):
    """Say in a few words what a value is: `a list of 3`, `None`, `a float64 array of shape (2,
    3)`.
    """
    value = plain(value)
    match value:
        case None:
            return "None"
        case np.ndarray():
            return f"{article(value.dtype.name)} array of shape {value.shape}"
        case Tensor():
            return f"a torch tensor of {value.dtype} and shape {value.values.shape}"
        case Opaque():
            return value.description
        case tuple() | list() | dict():
            return f"a {type(value).__name__} of {len(value)}"
        case bool() | int() | float():
            return f"the {type(value).__name__} {value}"
        case _:
            return f"the string {value[:40]!r}"


def article(name):
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def answer(requests):
    """Answer the grader's requests one after the other, inside the learner's kernel.

    Args:
        requests: (id, exercise, probe, text of the inputs) of each; each observation goes back as a
            line of a display message of type `ANSWER_MIME`, with the same id. A message costs more
            than most answers do, so those of a moment share one.
    """
    from IPython import get_ipython
    from IPython.display import publish_display_data

    ready, since = [], time.monotonic()
    try:
        for each, exercise, probe, inputs in requests:
            implementation = get_ipython().user_ns.get(exercise, None)
            if implementation is None:
                observation = {"unfit": "is not defined"}
            else:
                observation = observe(probe, implementation, decode(inputs))
            ready.append(encode({"id": each, "observation": observation}))
            if time.monotonic() - since > MOMENT or sum(map(len, ready)) > LONGEST_MESSAGE:
                publish_display_data({ANSWER_MIME: "\n".join(ready)})
                ready, since = [], time.monotonic()
    finally:  # where the grader's patience ends, what is ready goes out
        publish_display_data({ANSWER_MIME: "\n".join(ready)})
