"""Everything that a training needs in order to go on as if nothing had happened, in one file,
written whole or not at all.
"""

import json
import os
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

CHECKPOINT, WEIGHTS = "checkpoint.safetensors", "model.safetensors"  # to continue; what it became
BEST = "best.safetensors"  # the weights with the lowest validation loss so far
MAY_CHANGE = ("steps", "minutes", "patience")  # they only say when a training ends
# and these, where it is computed and kept
MAY_CHANGE += ("workers", "sharded", "recomputed", "recorded")
SHARDS = "checkpoint-*.sharded"  # see `solutions.translator.shards`
OF_A_STEP = "weights-*.safetensors"  # for the mean over the last few


class CheckpointError(ValueError):
    """A checkpoint cannot be read, does not fit, or could not be written; the message says what to
    do.
    """


def save(path, tensors, about):
    """Write tensors and what is to be known of them; until all is on the disk, the file that was
    there stays.

    Args:
        path: of the file.
        tensors: dict[str, Tensor].
        about: dict of what JSON can hold.

    Raises:
        CheckpointError: where the disk is full or cannot be written.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(kept, unfinished, metadata={"about": json.dumps(about)})
        with open(unfinished, "rb") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except (OSError, SafetensorError) as error:
        unfinished.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        kept = "; the last good checkpoint is kept" if path.exists() else ""
        raise CheckpointError(f"{path} could not be written: {reason}{kept}") from None


def load(path, device="cpu"):
    """Read what `save` wrote.

    Returns:
        dict[str, Tensor], and what is known of them.

    Raises:
        CheckpointError: if there is no such file, or it is damaged.
    """
    if not Path(path).exists():
        raise CheckpointError(
            f"there is no checkpoint {path}; `python -m solutions.translator train` makes one"
        )
    try:
        with safe_open(path, framework="pt", device=str(device)) as file:
            about = json.loads(file.metadata()["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
        raise CheckpointError(
            f"{path} is no checkpoint of this course, or a damaged one: {error}"
        ) from None


def what_is_kept(folder):
    """Say which checkpoint a run has."""
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        return "There is no checkpoint yet."
    step = load(path)[1]["state"]["step_number"]
    return f"The last good checkpoint, of step {step}, is kept: {path}"


def require_the_same(path, ours, theirs):
    """Stop if a checkpoint is of another training, or of a longer one.

    Args:
        path: of the checkpoint.
        ours, theirs: what this training and the checkpoint say of themselves: dicts of what JSON
            can hold, with a dict "settings".

    Raises:
        CheckpointError: which says what differs.
    """
    ours, theirs = (
        {**each, **each["settings"], "settings": None}
        for each in (json.loads(json.dumps(ours)), theirs)
    )
    changed = [
        name
        for name, value in ours.items()
        if theirs.get(name, value) != value and name not in MAY_CHANGE
    ]
    if changed:
        raise CheckpointError(
            f"{path} is of a training with other settings (of {', '.join(changed)}); give those,"
            " or another folder with --into"
        )
    done = theirs["state"]["step_number"]
    if ours["steps"] and done > ours["steps"]:
        raise CheckpointError(
            f"{path} is of a training that has come to step {done:,}; give at least as many"
            " --steps, or another folder with --into"
        )


def named(tensors, prefix):
    """Return the tensors whose names begin with a prefix, without the prefix."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def weights_of(model):
    """Return a model's weights by name, those that are tied under their first name only."""
    return {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}


def put_weights(model, tensors, path, prefix="model."):
    """Give a model the weights of a checkpoint.

    Args:
        prefix: of their names there.

    Raises:
        CheckpointError: if they are another model's.
    """
    own, kept = dict(model.named_parameters()), named(tensors, prefix)
    wrong = sorted(own.keys() ^ kept.keys()) or [
        name for name in own if own[name].shape != kept[name].shape
    ]
    if wrong:
        raise CheckpointError(
            f"{path} is a checkpoint of another model (they differ in"
            f" {', '.join(wrong[:3])}{', ...' if len(wrong) > 3 else ''}); give the settings that"
            " it was trained with, or another folder with --into"
        )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(placed_like(parameter, kept[name]))


def optimizer_tensors(model, optimizer):
    """Return an optimiser's state by the name of the parameter that it belongs to."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"optimizer.{names[parameter]}.{key}": torch.as_tensor(value)
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def put_optimizer_tensors(model, optimizer, tensors):
    """Give an optimiser the state of a checkpoint."""
    kept = named(tensors, "optimizer.")
    for name, parameter in model.named_parameters():
        state = {key: value for key, value in named(kept, f"{name}.").items() if "." not in key}
        if state:
            optimizer.state[parameter] = {
                key: placed_like(parameter, value) for key, value in state.items()
            }


def placed_like(parameter, tensor):
    """Return a whole tensor on the device of a parameter, and sharded where that is."""
    tensor = tensor.to(parameter.device)
    if type(parameter.detach()) is torch.Tensor or tensor.shape != parameter.shape:
        return tensor
    from solutions.translator import shards  # whose imports take a second

    return shards.placed_like(parameter, tensor)


def random_tensors():
    """Return the state of every random generator that training draws from."""
    states = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["random.cuda"] = torch.cuda.get_rng_state()
    return states


def put_random_tensors(tensors):
    """Set the random generators as they were."""
    torch.set_rng_state(tensors["random.cpu"].cpu())
    if torch.cuda.is_available() and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"].cpu())


def keep_weights(folder, step, model, about, count):
    """Write the weights of a step, and remove all but the last `count` of such files."""
    save(Path(folder) / OF_A_STEP.replace("*", f"{step:08}"), weights_of(model), about)
    for old in weight_files(folder)[:-count]:
        old.unlink()


def forget_weights_after(folder, step):
    """Remove the weights of later steps than one."""
    for path in weight_files(folder):
        if int(path.stem.split("-")[1]) > step:
            path.unlink()


def weight_files(folder):
    """Return the files that `keep_weights` wrote, the oldest first."""
    return sorted(Path(folder).glob(OF_A_STEP))


def mean_of(paths):
    """Return the mean of the weights in some files, by name."""
    sums = {}
    for path in paths:
        for name, tensor in load(path)[0].items():
            sums[name] = sums.get(name, 0) + tensor.double() / len(paths)
    return {name: tensor.float() for name, tensor in sums.items()}


def forget_shards(folder, kept):
    """Remove what was saved in parts before.

    Args:
        kept: the name of what was written last; None if nothing.
    """
    for path in Path(folder).glob(SHARDS):
        if path.name != kept:
            shutil.rmtree(path)
