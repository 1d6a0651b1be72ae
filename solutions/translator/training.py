"""The training loop: from batches to a model that translates, on one device or several, and from
wherever it was interrupted.

Start it with `python -m solutions.translator train`, or on several devices with
`torchrun --nproc-per-node N -m solutions.translator train`.
"""

import contextlib
import math
import time
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

from solutions.translator import checkpoints
from solutions.translator.checkpoints import CHECKPOINT, WEIGHTS
from solutions.translator.data.batches import prefetched
from solutions.translator.distributed import Team
from solutions.translator.history import History, Recent, progress_bar
from solutions.translator.loss import Objective

LOG_EVERY = 20  # steps


class TrainingError(RuntimeError):
    """Training cannot go on; the message says why, and what can be done."""


class Training:
    """A training that can be interrupted at any moment and continues from its last checkpoint.

    Args:
        model: a Translator, or any contract's Transformer.
        batches: Batches of the training pairs.
        validation: Batches of the validation pairs.
        settings: Settings.
        folder: gets the checkpoints, the finished model and the history.
        samples: called after each evaluation; returns a dict of what else to note, such as
            translations.
        about: dict of what JSON can hold, kept in the checkpoints: what the model is.
        team: the processes that train together; without it, those that torchrun started.
    """

    def __init__(
        self, model, batches, validation, settings, folder, samples=dict, about=None, team=None
    ):
        self.team = team or Team()
        self.device = self.team.device
        self.model = model.to(self.device)
        self.batches, self.validation, self.settings = batches, validation, settings
        self.folder, self.samples, self.about = Path(folder), samples, about or {}
        self.history = History(folder)
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=settings.learning_rate,
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        objective = Objective(self.model, settings.smoothing)
        self.objective = self.team.wrap(
            torch.compile(objective) if settings.compiled else objective
        )
        self.step_number, self.epoch, self.position, self.seconds = 0, 0, 0, 0.0
        self.best, self.looks_without_progress = math.inf, 0
        # every process drops out others
        torch.manual_seed(settings.seed + 1_000_003 * self.team.rank)

    def run(self):
        """Train to the end; return the mean validation loss of the finished model.

        Raises:
            TrainingError: if the loss is not a finite number, or memory does not suffice.
            checkpoints.CheckpointError: if a checkpoint cannot be written, or is another model's.
        """
        self.resume()
        started = time.monotonic() - self.seconds
        recent = Recent()
        with (
            progress_bar(self.progress(), self.team.is_first) as bar,
            out_of_memory_explained(self.folder),
        ):
            for micro_batches, words in self.shares():
                recent.add(self.step(micro_batches, words), words)
                self.step_number += 1
                self.seconds = time.monotonic() - started
                if self.settings.minutes:  # then the learning rate depends on the time
                    self.seconds = self.team.agree(self.seconds)
                if self.step_number % LOG_EVERY == 0:
                    self.log(bar, recent)
                    recent = Recent()
                if self.step_number % self.settings.look_every == 0:
                    with recent.paused():
                        self.evaluate()
        return self.finish()

    def shares(self):
        """Yield this process's share of each batch that is left, until training is over."""
        while not self.is_over():
            for share in self.loaded(self.batches.epoch(self.epoch)[self.position :]):
                self.position += 1
                yield share
                if self.is_over():
                    return
            self.epoch, self.position = self.epoch + 1, 0

    def loaded(self, batches):
        """Yield this process's share of each batch, on the device, and the number of words in the
        whole batch.
        """
        on_gpu = self.device.type == "cuda"
        shares = prefetched(batches, self.share) if on_gpu else map(self.share, batches)
        for micro_batches, words in shares:
            moved = [
                (*(ids.to(self.device, non_blocking=True) for ids in (src, target)), weight)
                for src, target, weight in micro_batches
            ]
            yield moved, words

    def share(self, indices):
        """Return this process's share of a batch; see `step`.

        Args:
            indices: of the pairs in the whole batch.
        """
        count = self.team.size * self.settings.accumulate
        mine = [indices[first::count] for first in range(self.team.rank, count, self.team.size)]
        micro_batches = []
        for some in mine:
            # a filler, where there are fewer pairs than micro-batches
            tensors = self.batches.tensors(some if len(some) else indices[:1])
            if self.device.type == "cuda":
                tensors = [ids.pin_memory() for ids in tensors]
            micro_batches.append((*tensors, int(len(some) > 0)))
        return micro_batches, int(self.batches.lengths[indices, 1].sum())

    def step(self, micro_batches, words):
        """Make one update with this process's share of a batch; return the summed loss.

        Args:
            micro_batches: list of (src, target, weight), where the weight is 1, or 0 for a filler,
                which keeps all processes in step.
            words: to predict, in the whole batch, over all processes.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for number, (src, target, weight) in enumerate(micro_batches, 1):
            # gradients are averaged once, at the end
            waits = self.team.size > 1 and number < len(micro_batches)
            with self.precision(), self.objective.no_sync() if waits else contextlib.nullcontext():
                loss = weight * self.objective(src, target)
                # the mean over all words of the batch; the team's size undoes its averaging
                (loss * (self.team.size / words)).backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.max_norm)
        self.optimizer.step()
        return total

    def precision(self):
        """Return a context in which matrix products have the precision that was asked for."""
        return torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.settings.precision == "bfloat16"
        )

    def progress(self):
        """Return how much of the training is done, from 0 to 1."""
        return self.settings.progress(self.step_number, self.seconds)

    def is_over(self):
        """Return whether training ends here."""
        patience = self.settings.patience
        return self.progress() >= 1 or 0 < patience <= self.looks_without_progress

    def rate(self):
        """Return the learning rate of the next step."""
        return self.settings.rate(self.step_number + 1, self.progress())

    def log(self, bar, recent):
        """Report the loss and the speed.

        Raises:
            TrainingError: if the loss is not a number.
        """
        loss = self.team.sum(float(recent.loss_sum))[0] / recent.words
        self.require_a_number(loss)
        speed = recent.words_per_second()
        bar.set_postfix_str(
            f"step {self.step_number:,}, loss {loss:.3f}, {speed:,.0f} words/s", refresh=False
        )
        bar.update(int(1000 * self.progress()) - bar.n)
        self.note(loss=loss, rate=self.rate(), words_per_second=round(speed))

    def note(self, **seen):
        """Write down what was seen at this step."""
        if self.team.is_first:
            self.history.note({"step": self.step_number, **seen, "seconds": round(self.seconds, 1)})

    def require_a_number(self, loss):
        """Stop if the loss is not a number, because whatever was saved from then on would be lost.

        Raises:
            TrainingError: which says so.
        """
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is {loss} since about step {self.step_number}: the steps were too large;"
                f" try half of --learning-rate {self.settings.learning_rate:g}, or more --warmup."
                f" {self.what_is_kept()}"
            )

    def evaluate(self):
        """Measure the loss on the validation pairs, leave a checkpoint, and note whether the loss
        is the lowest so far.
        """
        loss = self.validation_loss()
        self.require_a_number(loss)
        better = loss < self.best
        self.best = loss if better else self.best
        self.looks_without_progress = 0 if better else self.looks_without_progress + 1
        if self.team.is_first:
            state = torch.get_rng_state()
            self.note(validation_loss=loss, **self.samples())
            torch.set_rng_state(state)  # whatever samples draw, training continues the same
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
        random = {  # every process draws its own random numbers
            f"rank{rank}.{name}": state
            for rank, states in enumerate(self.team.gather(checkpoints.random_tensors()))
            for name, state in states.items()
        }
        if not self.team.is_first:
            return
        if self.settings.average > 1:
            checkpoints.keep_weights(
                self.folder, self.step_number, self.model, self.state(), self.settings.average
            )
        weights = checkpoints.weights_of(self.model)
        tensors = weights | checkpoints.optimizer_tensors(self.model, self.optimizer) | random
        checkpoints.save(self.folder / CHECKPOINT, tensors, self.state())

    def state(self):
        """Return what a checkpoint says beside its tensors: how far training has come, and what
        must be the same for it to continue.
        """
        names = ("step_number", "epoch", "position", "seconds", "best", "looks_without_progress")
        return {"state": {name: getattr(self, name) for name in names}, **self.identity()}

    def identity(self):
        """Return what must be the same for a training to continue from a checkpoint."""
        return {"settings": asdict(self.settings), "team": self.team.size, **self.about}

    def has_begun(self):
        """Return whether there is a checkpoint to continue from."""
        return (self.folder / CHECKPOINT).exists()

    def resume(self):
        """Continue from the last checkpoint, if there is one.

        Raises:
            checkpoints.CheckpointError: if it is of another model or another training.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.has_begun():
            return
        path = self.folder / CHECKPOINT
        tensors, about = checkpoints.load(path, self.device)
        checkpoints.put_weights(self.model, tensors, path)
        checkpoints.require_the_same(path, self.identity(), about)
        checkpoints.put_optimizer_tensors(self.model, self.optimizer, tensors)
        checkpoints.put_random_tensors(checkpoints.named(tensors, f"rank{self.team.rank}."))
        for name, value in about["state"].items():
            setattr(self, name, value)
        if self.team.is_first:
            self.history.forget_after(self.step_number)
            checkpoints.forget_weights_after(self.folder, self.step_number)

    def finish(self):
        """Average the last checkpoints where that was asked for, write the finished model, and
        return its validation loss.
        """
        if self.step_number % self.settings.look_every:
            self.evaluate()
        self.team.wait()  # the first process may still be writing
        paths = checkpoints.weight_files(self.folder)[-self.settings.average :]
        if self.settings.average > 1 and len(paths) > 1:
            checkpoints.put_average(self.model, paths, self.device)
        loss = self.validation_loss()
        if self.team.is_first:
            weights = checkpoints.weights_of(self.model)
            checkpoints.save(self.folder / WEIGHTS, weights, self.state())
            self.history.close()
        return loss

    def what_is_kept(self):
        """Say which checkpoint there is."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return "There is no checkpoint yet."
        step = checkpoints.load(path)[1]["state"]["step_number"]
        return f"The last good checkpoint, of step {step}, is kept: {path}"


@contextlib.contextmanager
def out_of_memory_explained(folder):
    """Say in a sentence that memory does not suffice.

    Raises:
        TrainingError: instead of what PyTorch raises then.
    """
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        signs = ("can't allocate memory", "not enough memory")
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and not any(
            sign in str(error) for sign in signs
        ):
            raise
        raise TrainingError(
            "memory does not suffice for this batch; give fewer --tokens, or a larger"
            f" --accumulate. What was saved in {folder} is kept."
        ) from None
