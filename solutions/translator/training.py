"""The training loop: from batches to a model that translates, on one device or several, and from
wherever it was interrupted.

Start it with `python -m solutions.translator train`, or on several devices with
`torchrun --nproc-per-node N -m solutions.translator train`.
"""

import math
import time
from pathlib import Path

import torch
from torch import nn

from solutions.translator import resuming
from solutions.translator.averaging import MovingAverage
from solutions.translator.data.shares import Order, Shares, loader
from solutions.translator.distributed import Team
from solutions.translator.history import History, Recent, progress_bar
from solutions.translator.objective import Objective, make_optimizer, recompute_layers
from solutions.translator.own_model import failures_told
from solutions.translator.recorded import Recorded, no_plans_for_attention, require_recordable
from solutions.translator.settings.precision import float32_products_in, products_in, resolved
from solutions.translator.trouble import TrainingError, out_of_memory_explained, require_a_number

LOG_EVERY = 20  # steps


class Training:
    """A training that can be interrupted at any moment and continues from its last checkpoint.

    Args:
        model: a Translator, or any contract's Transformer.
        batches: Batches of the training pairs.
        validation: Batches of the validation pairs.
        settings: Settings.
        folder: gets the checkpoints, the finished model and the history.
        samples: called with the model after each evaluation; returns a dict of what else to note,
            such as translations.
        about: dict of what JSON can hold, kept in the checkpoints: what the model is.
        team: the processes that train together; without it, those that torchrun started.
    """

    def __init__(
        self, model, batches, validation, settings, folder, samples=None, about=None, team=None
    ):
        self.team = team or Team()
        self.device = self.team.device
        self.settings = settings = resolved(settings)
        self.model = model.to(self.device)
        if settings.recomputed:
            recompute_layers(model)
        self.batches, self.validation = batches, validation
        self.folder, self.about = Path(folder), about or {}
        self.samples = samples or (lambda model: {})
        self.history = History(folder)
        shapes = settings.shapes if settings.compiled else 0
        objective = Objective(self.model, settings.smoothing, shapes)
        self.objective = self.team.wrap(objective, settings.sharded)
        self.optimizer = make_optimizer(self.model, settings)
        self.average = MovingAverage(self.model, settings.ema)
        self.passes = self.forward_and_backward
        if settings.recorded:
            require_recordable(model, self.team)
            # the micro-batches of a step have one shape: the first of them is recorded
            self.passes = Recorded(self.forward_and_backward, self.clear_gradients)
        # float16 has no room for small gradients, so they are computed larger
        half = settings.precision == "float16"
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=half)
        self.step_number, self.epoch, self.position, self.seconds = 0, 0, 0, 0.0
        self.best, self.looks_without_progress = math.inf, 0
        resuming.draw_afresh(self)

    @failures_told()
    def run(self):
        """Train to the end; return the mean validation loss of the finished model.

        Raises:
            TrainingError: if nothing says when to end, the loss is not a finite number, or memory
                does not suffice.
            TeamError: if the processes were told different things.
            checkpoints.CheckpointError: if a checkpoint cannot be written, or is another model's.
            OwnModelError: if a learner's own model fails.
        """
        if not self.settings.steps and not self.settings.minutes:
            raise TrainingError("neither steps nor minutes say when this training ends; give one")
        resuming.resume(self)
        started, recent = time.monotonic() - self.seconds, Recent()
        with (
            float32_products_in(self.settings.precision, self.device),
            no_plans_for_attention(),
            progress_bar(self.progress(), self.team.is_first) as bar,
            out_of_memory_explained(self.folder),
        ):
            for share in self.shares():
                recent.add(self.step(share.micro_batches, share.words), share.words)
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
        return resuming.finish(self)

    def shares(self):
        """Yield this process's Share of each batch that is left, until training is over."""
        if self.is_over():
            return
        mine = self.team.rank, self.team.size, self.settings.accumulate
        shares = Shares(self.batches, *mine, everywhere=self.settings.recorded)
        on_gpu, workers = self.device.type == "cuda", self.settings.workers
        workers = (2 if on_gpu else 0) if workers == "auto" else workers
        for share in loader(shares, self.epoch, self.position, workers, pinned=on_gpu):
            self.epoch, self.position = share.epoch, share.position + 1
            yield share
            if self.is_over():
                return

    def step(self, micro_batches, words):
        """Make one update with this process's share of a batch; return the summed loss, without
        waiting for it.

        Args:
            micro_batches: list of MicroBatch.
            words: to predict, in the whole batch, over all processes.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.model.train()
        self.clear_gradients()
        total = 0.0
        for number, micro_batch in enumerate(micro_batches, 1):
            # gradients are averaged once, at the end
            with self.team.averaging(self.objective, now=number == len(micro_batches)):
                # the mean over all words of the batch; the team's size undoes its averaging
                total += self.passes(*self.on_device(micro_batch), self.team.size / words)
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.max_norm)
        self.scaler.step(self.optimizer)  # not where a gradient is infinite
        self.scaler.update()
        self.average.update()
        return total

    def clear_gradients(self):
        """Set the gradients to 0; a recording needs them where they are in memory."""
        self.optimizer.zero_grad(set_to_none=not self.settings.recorded)

    def forward_and_backward(self, src, target, words, factor):
        """Add the gradients of `factor` times a micro-batch's loss to those that are there; return
        the loss.
        """
        with self.precision():
            loss = self.objective(src, target, words)
        self.scaler.scale(loss * factor).backward()
        return loss.detach()

    def on_device(self, micro_batch):
        """Return a MicroBatch where the model is, without waiting for it."""
        return [each.to(self.device, non_blocking=True) for each in micro_batch]

    def precision(self):
        """Return a context in which matrix products have the precision that was asked for."""
        return products_in(self.settings.precision, self.device)

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
        require_a_number(self, loss)
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

    def evaluate(self):
        """Measure the loss on the validation pairs, leave a checkpoint, and note whether the loss
        is the lowest so far.
        """
        loss = self.validation_loss()
        require_a_number(self, loss)
        better = loss < self.best
        self.best = loss if better else self.best
        self.looks_without_progress = 0 if better else self.looks_without_progress + 1
        with self.team.whole(self.objective), self.precision():
            if self.team.is_first:
                state = torch.get_rng_state()
                self.note(validation_loss=loss, **self.samples(self.average.model))
                torch.set_rng_state(state)  # whatever samples draw, training continues the same
        resuming.save(self, better)

    def validation_loss(self):
        """Return the mean loss of a word of the validation pairs, without smoothing."""
        model = self.average.model.eval()
        objective, total, words = Objective(model, 0.0), 0.0, 0
        shares = Shares(self.validation, self.team.rank, self.team.size)
        with torch.no_grad(), self.precision(), self.team.whole(self.objective):
            for share in map(shares.__getitem__, Order(self.validation).of(epoch=0)):
                total += objective(*self.on_device(share.micro_batches[0])).double()
                words += share.words
        return self.team.sum(float(total))[0] / words
