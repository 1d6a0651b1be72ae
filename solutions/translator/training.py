"""The training loop: from batches to a model that translates, on one device or several, and from
wherever it was interrupted.

Start it with `python -m solutions.translator train`, or on several devices with
`torchrun --nproc-per-node N -m solutions.translator train`.
"""

import contextlib
import ctypes
import json
import math
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from tqdm import tqdm

from solutions.ch09_training import label_smoothed_loss, noam_rate, teacher_forcing_pair
from solutions.translator import checkpoints
from solutions.translator.data.batches import Batches, prefetched
from solutions.translator.data.tokenizer import PAD

LOG_EVERY = 20  # steps
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # as malloc.h numbers what mallopt can set
CHECKPOINT, WEIGHTS, HISTORY = "checkpoint.safetensors", "model.safetensors", "history.jsonl"


class TrainingError(RuntimeError):
    """Training cannot go on; the message says why, and what can be done."""


@dataclass(frozen=True)
class Settings:
    """How to train.

    Args:
        tokens: the most tokens on the longer side of a batch.
        accumulate: parts in which a batch goes through the model, where it would take too much
            memory at once.
        steps, minutes: how long; where both are given, whichever comes first. Only `steps` alone
            makes a training repeatable to the bit.
        learning_rate: the highest.
        warmup: steps in which it rises.
        schedule: how it falls: "cosine" to 0 at the end, "noam" with the square root of the step
            (Vaswani et al. 2017), "constant".
        smoothing: share of label smoothing.
        max_norm: to which the gradient's norm is clipped.
        precision: "float32", or "bfloat16" for the matrix products; on the command line also
            "auto".
        look_every: steps between two looks at the validation pairs, each of which leaves a
            checkpoint.
        patience: looks without a lower loss, after which training ends; 0 for never.
        average: so many of the last checkpoints' weights are averaged for the finished model.
        seed: decides the weights in the beginning, the order of the batches, and dropout.
    """

    tokens: int = 4096
    accumulate: int = 1
    steps: int | None = None
    minutes: float | None = None
    learning_rate: float = 1e-3
    warmup: int = 400
    schedule: str = "cosine"
    smoothing: float = 0.1
    max_norm: float = 1.0
    weight_decay: float = 0.0
    precision: str = "float32"
    bucketed: bool = True
    compiled: bool = False
    look_every: int = 500
    patience: int = 0
    average: int = 1
    seed: int = 0


class Objective(nn.Module):
    """A model and what it is to make small: the sum of the losses of all words of a batch."""

    def __init__(self, model, smoothing):
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, src, target):
        """Return the summed loss of (batch, src_len) sources and (batch, tgt_len) targets from
        `<bos>` to `<eos>`.
        """
        tgt, expected = teacher_forcing_pair(target)
        if hasattr(self.model, "loss"):
            return self.model.loss(src, tgt, expected, self.smoothing)
        words = (expected != PAD).sum()
        return label_smoothed_loss(self.model(src, tgt), expected, PAD, self.smoothing) * words


class Team:
    """The processes that train together, started by torchrun; or this one alone."""

    def __init__(self):
        self.size, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        cuda = torch.cuda.is_available()
        self.device = (
            torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            if cuda
            else torch.device("cpu")
        )
        if cuda:
            torch.cuda.set_device(self.device)
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if cuda else "gloo")

    def sum(self, *numbers):
        """Add numbers up over all processes."""
        if self.size == 1:
            return numbers
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return total.tolist()

    def wrap(self, objective):
        """Have gradients averaged over all processes."""
        return objective if self.size == 1 else nn.parallel.DistributedDataParallel(objective)

    def agree(self, number):
        """Return the first process's number, in all of them."""
        if self.size == 1:
            return number
        told = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.broadcast(told, 0)
        return told.item()

    def wait(self):
        """Wait here until all processes have come so far."""
        if self.size > 1:
            dist.barrier()

    def part(self):
        """Let the processes go their own ways, all at one time: who left early would look like a
        crash to the others.
        """
        self.wait()
        if dist.is_initialized():
            dist.destroy_process_group()


class Training:
    """A training that can be interrupted at any moment and goes on where its last checkpoint was.

    Args:
        model: a Translator, or any contract's Transformer.
        batches: Batches of the training pairs.
        validation: Batches of the validation pairs.
        settings: Settings.
        folder: gets the checkpoints, the finished model and the history.
        show: called after each look with a dict of what was seen; may return more to be noted (such
            as translations).
        about: dict of what JSON can hold, kept in the checkpoints: what the model is.
    """

    def __init__(
        self, model, batches, validation, settings, folder, show=None, about=None, team=None
    ):
        self.team = team or Team()
        self.device = self.team.device
        self.model = model.to(self.device)
        self.batches, self.validation, self.settings = batches, validation, settings
        self.folder, self.show, self.about = Path(folder), show or (lambda seen: None), about or {}
        decay = {
            "lr": settings.learning_rate,
            "betas": (0.9, 0.98),
            "eps": 1e-9,
            "weight_decay": settings.weight_decay,
        }
        self.optimizer = torch.optim.AdamW(model.parameters(), **decay, fused=True)
        objective = Objective(self.model, settings.smoothing)
        self.objective = self.team.wrap(
            torch.compile(objective) if settings.compiled else objective
        )
        self.step_number, self.epoch, self.position, self.seconds = 0, 0, 0, 0.0
        self.best, self.worse = math.inf, 0
        torch.manual_seed(settings.seed + 1_000_003 * self.team.rank)  # every process drops others

    def run(self):
        """Train to the end; return the mean validation loss of the finished model.

        Raises:
            TrainingError: if the loss is no number any more, or memory does not suffice.
            checkpoints.CheckpointError: if a checkpoint cannot be written, or is another model's.
        """
        self.resume()
        since = time.monotonic() - self.seconds
        bar = tqdm(
            total=1000,
            initial=int(1000 * self.progress()),
            unit="‰",
            disable=self.team.rank > 0,
            leave=False,
        )
        loss_sum = word_sum = 0.0
        started, lately = time.monotonic(), 0.0
        with bar, told_of_memory(self.folder):
            while not self.is_over():
                chosen = self.batches.epoch(self.epoch)[self.position :]
                for parts, words in self.loaded(chosen):
                    loss_sum, word_sum, lately = (
                        loss_sum + self.step(parts, words),
                        word_sum + words,
                        lately + words,
                    )
                    self.step_number, self.position = self.step_number + 1, self.position + 1
                    self.seconds = time.monotonic() - since
                    if (
                        self.settings.minutes
                    ):  # the rate depends on the time, and must be one and the same everywhere
                        self.seconds = self.team.agree(self.seconds)
                    if self.step_number % LOG_EVERY == 0:
                        rate = lately / (time.monotonic() - started)
                        self.log(bar, loss_sum, word_sum, rate)
                        loss_sum = word_sum = lately = 0.0
                        started = time.monotonic()
                    if self.step_number % self.settings.look_every == 0:
                        self.look()
                        started, lately = time.monotonic(), 0.0
                    if self.is_over():
                        break
                else:
                    self.epoch, self.position = self.epoch + 1, 0
        return self.finish()

    def step(self, parts, words):
        """Make one update with this process's share of a batch; return the summed loss.

        Args:
            parts: in which the share goes through the model: (src, target, 1, or 0 for one that
                only keeps the others company).
            words: to predict, in the whole batch, over all processes.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for number, (src, target, counts) in enumerate(parts, 1):
            waits = self.team.size > 1 and number < len(
                parts
            )  # gradients are averaged once, at the end
            with self.precision(), self.objective.no_sync() if waits else contextlib.nullcontext():
                loss = counts * self.objective(src, target)
                # the team averages gradients, and they should be of the mean over all words of the
                # batch
                (loss * (self.team.size / words)).backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.max_norm)
        self.optimizer.step()
        return total

    def loaded(self, chosen):
        """Yield this process's share of each batch, on the device, and the words of the whole
        batch; see `step`.
        """
        on_gpu = self.device.type == "cuda"
        parts = self.team.size * self.settings.accumulate

        def make(indices):
            mine = [indices[part::parts] for part in range(self.team.rank, parts, self.team.size)]
            made = [
                (*self.batches.tensors(part if len(part) else indices[:1]), int(len(part) > 0))
                for part in mine
            ]
            if on_gpu:
                made = [
                    (src.pin_memory(), target.pin_memory(), counts) for src, target, counts in made
                ]
            return made, int(self.batches.lengths[indices, 1].sum())

        for made, words in prefetched(chosen, make) if on_gpu else map(make, chosen):
            there = {"device": self.device, "non_blocking": True}
            yield (
                [(src.to(**there), target.to(**there), counts) for src, target, counts in made],
                words,
            )

    def precision(self):
        """Return a context in which matrix products have the precision that was asked for."""
        return torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.settings.precision == "bfloat16"
        )

    def progress(self):
        """Return how much of the training is done, from 0 to 1."""
        by_steps = self.step_number / self.settings.steps if self.settings.steps else 0.0
        by_time = self.seconds / 60 / self.settings.minutes if self.settings.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    def is_over(self):
        """Return whether training ends here."""
        return self.progress() >= 1 or bool(
            self.settings.patience and self.worse >= self.settings.patience
        )

    def rate(self):
        """Return the learning rate of the step that comes."""
        step, warmup, highest = (
            self.step_number + 1,
            max(1, self.settings.warmup),
            self.settings.learning_rate,
        )
        if self.settings.schedule == "noam":
            return highest * noam_rate(step, 1, warmup) / noam_rate(warmup, 1, warmup)
        risen = min(1.0, step / warmup)
        if self.settings.schedule == "cosine":
            return highest * risen * (1 + math.cos(math.pi * self.progress())) / 2
        return highest * risen

    def log(self, bar, loss_sum, words, rate):
        """Say how it goes.

        Raises:
            TrainingError: if the loss is not a number.
        """
        loss = self.team.sum(float(loss_sum))[0] / words
        self.require_a_number(loss)
        bar.update(int(1000 * self.progress()) - bar.n)
        bar.set_postfix_str(f"step {self.step_number}, loss {loss:.3f}, {rate:,.0f} words/s")
        self.note(
            {
                "step": self.step_number,
                "loss": loss,
                "rate": self.rate(),
                "words_per_second": round(rate),
            }
        )

    def require_a_number(self, loss):
        """Stop where the loss is not a number: whatever was saved from here on would be lost.

        Raises:
            TrainingError: which says so.
        """
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is {loss} since about step {self.step_number}: the steps were too large;"
                f" try half of --learning-rate {self.settings.learning_rate:g}, or more --warmup."
                f" {self.what_is_kept()}"
            )

    def note(self, seen):
        """Write a line into the history, and to TensorBoard where it is installed."""
        if self.team.rank:
            return
        seen = {**seen, "seconds": round(self.seconds, 1)}
        with open(self.folder / HISTORY, "a", encoding="utf-8") as file:
            file.write(json.dumps(seen, ensure_ascii=False) + "\n")
        writer = self.tensorboard()
        for name, value in seen.items():
            if writer and isinstance(value, int | float) and name != "step":
                writer.add_scalar(name, value, seen["step"])

    def tensorboard(self):
        """Return the writer of TensorBoard's logs, or None where it is not installed."""
        if not hasattr(self, "_writer"):
            try:
                from torch.utils.tensorboard import SummaryWriter

                self._writer = SummaryWriter(
                    self.folder / "tensorboard", purge_step=self.step_number
                )
            except ImportError:
                self._writer = None
        return self._writer

    def look(self):
        """Look at the validation pairs, leave a checkpoint, and note whether it has become
        better.
        """
        loss = self.validation_loss()
        self.require_a_number(loss)
        self.best, self.worse = (loss, 0) if loss < self.best else (self.best, self.worse + 1)
        state = torch.get_rng_state()
        seen = {"step": self.step_number, "validation_loss": loss}
        if self.team.rank == 0:
            self.note(seen | (self.show(seen) or {}))
        torch.set_rng_state(state)  # whatever was looked at, training goes on the same
        self.save()

    def validation_loss(self):
        """Return the mean loss of a word of the validation pairs, without smoothing."""
        objective, total, words = Objective(self.model, 0.0), 0.0, 0
        self.model.eval()
        with torch.no_grad(), self.precision():
            for indices in self.validation.epoch(0)[self.team.rank :: self.team.size]:
                src, target = (each.to(self.device) for each in self.validation.tensors(indices))
                total += float(objective(src, target))
                words += int(self.validation.lengths[indices, 1].sum())
        total, words = self.team.sum(total, words)
        return total / words

    def save(self):
        """Leave a checkpoint; with averaging, the weights of the last few too."""
        if self.team.size > 1:  # every process draws its own random numbers
            states = [None] * self.team.size
            dist.all_gather_object(states, checkpoints.random_tensors())
            random = {
                f"{self.rank_name(rank)}{name}": each
                for rank, state in enumerate(states)
                for name, each in state.items()
            }
        else:
            random = {
                f"{self.rank_name(0)}{name}": each
                for name, each in checkpoints.random_tensors().items()
            }
        if self.team.rank:
            return
        weights = checkpoints.weights_of(self.model)
        if self.settings.average > 1:
            checkpoints.save(
                self.folder / f"weights-{self.step_number:08}.safetensors",
                weights,
                self.described(),
            )
            for old in sorted(self.folder.glob("weights-*.safetensors"))[: -self.settings.average]:
                old.unlink()
        tensors = weights | checkpoints.optimizer_tensors(self.model, self.optimizer) | random
        checkpoints.save(self.folder / CHECKPOINT, tensors, self.described())

    @staticmethod
    def rank_name(rank):
        return f"rank{rank}."

    def described(self):
        """Return where training stands, for a checkpoint."""
        names = ("step_number", "epoch", "position", "seconds", "best", "worse")
        state = {name: getattr(self, name) for name in names}
        return {
            "state": state,
            "settings": asdict(self.settings),
            "team": self.team.size,
            **self.about,
        }

    def has_begun(self):
        """Return whether there is a checkpoint to go on from."""
        return (self.folder / CHECKPOINT).exists()

    def resume(self):
        """Go on where the last checkpoint was, if there is one.

        Raises:
            checkpoints.CheckpointError: if it is of another model or another training.
        """
        path = self.folder / CHECKPOINT
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.has_begun():
            return
        tensors, about = checkpoints.load(path, self.device)
        checkpoints.put_weights(self.model, tensors, path)
        ours = {"settings": asdict(self.settings), "team": self.team.size, **self.about}
        changed = [
            name for name, value in ours.items() if about.get(name) != json.loads(json.dumps(value))
        ]
        changed += [
            name
            for name, value in asdict(self.settings).items()
            if "settings" in changed and about["settings"].get(name) != value
        ]
        if changed:
            raise checkpoints.CheckpointError(
                f"{path} is of a training with other settings (of"
                f" {', '.join(each for each in changed if each != 'settings')}); give those, or"
                " another folder with --into"
            )
        checkpoints.put_optimizer_tensors(self.model, self.optimizer, tensors)
        for name, value in about["state"].items():
            setattr(self, name, value)
        checkpoints.put_random_tensors(checkpoints.part(tensors, self.rank_name(self.team.rank)))
        if self.team.rank == 0:
            self.forget_after(self.step_number)

    def forget_after(self, step):
        """Take out of the folder what was written after the checkpoint that training goes on
        from.
        """
        path = self.folder / HISTORY
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            kept = [
                line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step
            ]
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        for weights in self.folder.glob("weights-*.safetensors"):
            if int(weights.stem.split("-")[1]) > step:
                weights.unlink()

    def finish(self):
        """Average the last checkpoints where that was asked for, write the finished model, and
        return its validation loss.
        """
        if self.step_number % self.settings.look_every:
            self.look()
        self.team.wait()  # the first process may still be writing
        paths = sorted(self.folder.glob("weights-*.safetensors"))[-self.settings.average :]
        if self.settings.average > 1 and len(paths) > 1:
            self.put_average(paths)
        loss = self.validation_loss()
        if self.team.rank == 0:
            checkpoints.save(
                self.folder / WEIGHTS, checkpoints.weights_of(self.model), self.described()
            )
            if self.tensorboard():
                self.tensorboard().close()
        return loss

    def put_average(self, paths):
        """Give the model the mean of the weights in some checkpoints."""
        sums = {}
        for path in paths:
            for name, tensor in checkpoints.load(path, self.device)[0].items():
                sums[name] = sums.get(name, 0) + tensor.double() / len(paths)
        checkpoints.put_weights(
            self.model, {name: tensor.float() for name, tensor in sums.items()}, paths[-1]
        )

    def what_is_kept(self):
        """Say which checkpoint there is."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return "There is no checkpoint yet."
        return (
            "The last good checkpoint, of step"
            f" {checkpoints.load(path)[1]['state']['step_number']}, is kept: {path}"
        )


@contextlib.contextmanager
def told_of_memory(folder):
    """Say in a sentence that memory does not suffice.

    Raises:
        TrainingError: in place of what PyTorch raises then.
    """
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        text = str(error)
        if isinstance(error, TrainingError) or not (
            isinstance(error, torch.OutOfMemoryError | MemoryError)
            or "can't allocate memory" in text
            or "not enough memory" in text
        ):
            raise
        raise TrainingError(
            "memory does not suffice for this batch; give fewer --tokens, or a larger"
            f" --accumulate. What was saved in {folder} is kept."
        ) from None


def keep_memory():
    """Have this process keep memory that it has used, for the next step: to give it back and to get
    it anew, page by page, costs a tenth.

    Only glibc, the C library of most Linux systems, can be told so; elsewhere nothing changes.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**25)
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)


def is_finished(folder):
    """Return whether a folder holds a finished model."""
    return (Path(folder) / WEIGHTS).exists()


def make_batches(sources, targets, settings, **changes):
    """Return Batches as the settings ask for."""
    round_to = 8 if settings.precision == "bfloat16" else 1
    options = {
        "tokens": settings.tokens,
        "seed": settings.seed,
        "bucketed": settings.bucketed,
        "round_to": round_to,
    }
    return Batches(sources, targets, **{**options, **changes})
