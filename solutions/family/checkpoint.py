"""A checkpoint in the layout of the Hugging Face hub: a folder with `config.json`, the tensors in
`model.safetensors` (or in several files and an index), and a tokenizer.
"""

import json
import pickle
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from solutions.family.names import OLD_ENDINGS

MODELS = Path(__file__).resolve().parents[2] / "work" / "models"  # where a download goes
CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLE = "pytorch_model.bin"
DOWNLOADED = (CONFIG, "model*.safetensors", INDEX, "tokenizer.json", "vocab.json", "*.spm")


class LoadingError(ValueError):
    """A checkpoint cannot be read, or does not fit; the message says why."""


def folder_of(where, download=False, revision=None):
    """Return the folder of a checkpoint.

    Args:
        where: a folder, or the name that a model has on the hub.
        download: whether it may be fetched from there.
        revision: which state of it; None for the newest.

    Raises:
        LoadingError: if it is not on this machine, and may not or cannot be fetched.
    """
    for folder in (Path(where), MODELS / where):
        if (folder / CONFIG).exists() and not download:
            return folder
    if download:
        return fetched(str(where), revision)
    if Path(where).is_dir():
        raise LoadingError(f"{where} has no {CONFIG}, so nobody knows what its tensors are")
    raise LoadingError(f"there is no folder {where}; --download fetches a model of that name")


def fetched(name, revision):
    """Download a model from the hub.

    Raises:
        LoadingError: if there is no such model, or no network.
    """
    import huggingface_hub  # it takes a second, and only a download needs it

    try:
        for files in (DOWNLOADED, (PICKLE,)):
            folder = Path(
                huggingface_hub.snapshot_download(
                    name,
                    revision=revision,
                    local_dir=MODELS / name,
                    allow_patterns=list(files),
                )
            )
            if (folder / WEIGHTS).exists() or (folder / INDEX).exists():
                break
    except (OSError, ValueError, RuntimeError, huggingface_hub.errors.HfHubHTTPError) as error:
        raise LoadingError(
            f"{name} cannot be downloaded: is there a network, and a model of that name?"
            f" ({first_line(error)})"
        ) from None
    return folder


def first_line(error):
    """Return the first line of an error's message, or its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def read_config(folder):
    """Return what `config.json` says.

    Raises:
        LoadingError: if it is none.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LoadingError(f"{folder / CONFIG} cannot be read: {first_line(error)}") from None
    if not isinstance(config, dict):
        raise LoadingError(f"{folder / CONFIG} holds no entries with names")
    return config


def read_tensors(folder):
    """Return the tensors of a checkpoint: name -> tensor.

    Raises:
        LoadingError: if a file is missing or damaged, or the tensors are in a pickle.
    """
    tensors = {}
    for file in files_of(folder):
        try:
            with safe_open(folder / file, framework="pt") as opened:
                tensors |= {current(name): opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise LoadingError(f"{folder / file} cannot be read: {first_line(error)}") from None
    return tensors


def files_of(folder):
    """Return the names of the files that hold the tensors."""
    if (folder / WEIGHTS).exists():
        return [WEIGHTS]
    if (folder / INDEX).exists():
        try:
            files = sorted(set(json.loads((folder / INDEX).read_text())["weight_map"].values()))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LoadingError(
                f"{folder / INDEX} does not say which file has which tensor"
            ) from None
        if outside := [file for file in files if Path(file).name != file]:
            raise LoadingError(f"{folder / INDEX} names a file outside of its folder: {outside[0]}")
        return files
    if (folder / PICKLE).exists():
        raise LoadingError(
            f"{folder} has its tensors only in {PICKLE}, a pickle, which can run code of whoever"
            f" wrote it; `python -m solutions.family convert {folder}` copies them into {WEIGHTS}"
            " with a reader that takes nothing but tensors"
        )
    raise LoadingError(f"{folder} has no {WEIGHTS}")


def current(name):
    """Return today's name of a tensor whose file is from the time of other ones."""
    for old, new in OLD_ENDINGS.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def convert(folder):
    """Copy the tensors of a pickle into `model.safetensors`; those that are one in memory, once.

    Raises:
        LoadingError: if there is no pickle, or it holds anything but tensors.
    """
    try:
        found = torch.load(folder / PICKLE, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise LoadingError(f"{folder} has no {PICKLE} to convert") from None
    except (OSError, RuntimeError, pickle.UnpicklingError) as error:
        raise LoadingError(f"{folder / PICKLE} is refused: {first_line(error)}") from None
    if not isinstance(found, dict) or not all(map(torch.is_tensor, found.values())):
        raise LoadingError(f"{folder / PICKLE} holds more than tensors with names")
    once = {(each.data_ptr(), each.shape): name for name, each in reversed(found.items())}
    save_file({name: found[name].clone().contiguous() for name in once.values()}, folder / WEIGHTS)
