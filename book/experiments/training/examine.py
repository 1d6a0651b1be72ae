"""The questions of chapter 9, asked of somebody's own Transformer, loss and step, as
`python -m autograder export my_transformer` collects them:

    python -m book.experiments.training.examine my_transformer

They are put into the cells of the page instead of the course's, as bugs are in `planted_bugs`.
"""

import math
import sys

import torch
from torch.nn.utils import parameters_to_vector

from book.experiments import measurements
from book.experiments.training import planted_bugs, reports
from book.experiments.training.bugs import NONE, Bug
from book.experiments.undisturbed import one_thread
from solutions import ch08_encoder_decoder, ch09_training
from solutions.translator.own_model import OwnModelError, failures_told, own_module

STEP = """        model.train()
        logits = model(src, decoder_input)
        loss = label_smoothed_loss(logits, expected, smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        optimizer.step()
        if step % 20 == 0:
"""
OWN_STEP = """        norms.append(train_step(model, optimizer, src, tgt, smoothing=0.1))
        if step % 20 == 0:
            logits = model(src, decoder_input)
"""
PARTS = {  # what is asked about -> the course's
    each.__name__: each
    for each in (
        ch08_encoder_decoder.Transformer,
        ch08_encoder_decoder.greedy_decode,
        ch09_training.teacher_forcing_pair,
        ch09_training.label_smoothed_loss,
        ch09_training.train_step,
    )
}
CHEAP = planted_bugs.BEFORE_TRAINING[:7]
WRONG_IF = {  # a question -> when its answer counts as wrong
    "first_loss": "more than 0.5 from 0",
    "scores": "below 0.2 or above 0.6",
    "later_word": "0.0001 or more",
    "other_source": "0.01 or less",
    "source_padding": "0.0001 or more",
    "target_padding": "0.0001 or more",
    "old_gradients": "0.01 or more",
    "one_batch": "0.1 or more",
    "exchanged": "0.5 or less",
    "forced": "less than 1",
}


class OwnCode(planted_bugs.Suspect):
    """Somebody's own parts in the loop of the page, with their `train_step` as its step.

    Args:
        parts: dict from names of `PARTS` to somebody's own; the others are the course's.
        seed: of the model.
    """

    def __init__(self, parts, seed=0):
        super().__init__(Bug(edits=((STEP, OWN_STEP),), names=PARTS | parts), seed)

    @torch.no_grad()
    def scores(self):
        """Return the standard deviation of the encoder's first scores within a row, from the
        logarithms of its weights, because other people's scores cannot be seen.
        """
        model, seen = self.model(dropout=0.0).eval(), []
        attention = model.encoder[0].self_attention
        attention.register_forward_pre_hook(
            lambda module, given, named: seen.append((given, named)), with_kwargs=True
        )
        model(self.src, self.tgt)
        given, named = seen[0]
        query, key, value, *rest = given
        mask = named.get("mask", rest[0] if rest else None)
        _, weights = attention(query, key, value, mask)  # (batch, heads, query_len, key_len)
        words = (self.src != 0)[:, None, None, :].expand_as(weights)
        logs = weights.clamp(min=1e-30).log().masked_fill(~words, 0.0)
        count = words.sum(dim=-1, keepdim=True)
        apart = (logs - logs.sum(dim=-1, keepdim=True) / count).masked_fill(~words, 0.0)
        return math.sqrt(apart.square().sum().item() / (count - 1).sum().item())

    def old_gradients(self):
        """Return how much, of the length of 1, a step with one batch differs if another batch came
        before it, which moved nothing.
        """
        first, second = (self.src.flip(0), self.tgt), (self.src, self.tgt)

        def step(*batches):
            model = self.model(dropout=0.0)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            before = parameters_to_vector(model.parameters()).detach().clone()
            for number, batch in enumerate(batches, 1):
                optimizer.param_groups[0]["lr"] = float(number == len(batches))
                self.page["train_step"](model, optimizer, *batch, smoothing=0.0)
            moved = parameters_to_vector(model.parameters()).detach() - before
            return torch.nn.functional.normalize(moved, dim=0)

        return (step(first, second) - step(second)).norm().item()


def parts_of(module):
    """Return dict: name -> somebody's own part, of those that can be asked about."""
    return {name: getattr(module, name) for name in PARTS if hasattr(module, name)}


def before_training(parts, seed=0, questions=CHEAP):
    """Ask the questions that need no training.

    Returns:
        str: a line for each question, with the answer and whether it is right.
    """
    with one_thread():
        answers = planted_bugs.asked(OwnCode(parts, seed), questions)
    return table([{"answers": answers}])


def examined(parts, steps, seeds):
    """Ask all questions.

    Returns:
        list of dict: one run for each seed, as `planted_bugs.measure` has them.
    """
    runs = []
    for seed in seeds:
        suspect = OwnCode(parts, seed)
        before = planted_bugs.asked(suspect)
        model, loss = suspect.trained(steps)
        exact, after = planted_bugs.asked_of_a_trained(suspect, model)
        runs.append({"seed": seed, "loss": loss, "exact": exact, "answers": before | after})
    return runs


def table(runs):
    """Lay out the questions, their answers, and when an answer counts as wrong."""
    wrong = reports.failures(runs)
    lines = [f"{'no.':>3}  {'question':15}  {'answer':17}  {'counted as wrong if':22}"]
    for number, name in enumerate(planted_bugs.QUESTIONS, 1):
        if name not in runs[0]["answers"]:
            continue
        said = reports.between([run["answers"][name] for run in runs], 1, 4)
        seeds = f" with {wrong[name]} of {len(runs)} seeds" if len(runs) > 1 else ""
        verdict = f"wrong{seeds}" if wrong[name] else "right"
        asked = reports.ASKED[name]
        lines.append(f"{number:3}  {asked:15}  {said:17}  {WRONG_IF[name]:22}  {verdict}")
    return "\n".join(lines)


def summary(runs, planted):
    """Say where the loss is beside the course's, and which planted bugs fail the same questions.

    Args:
        planted: what `planted_bugs` has recorded.
    """
    bugs = reports.by_bug(planted)
    honest = bugs[NONE]
    loss, others = (reports.between([run["loss"] for run in each], 1, 2) for each in (runs, honest))
    side = reports.beside(runs, honest)
    verdict = {reports.LOWER: "wrong: lower", reports.HIGHER: "wrong: higher"}.get(side, "right")
    last = len(planted_bugs.QUESTIONS) + 1
    lines = [f"{last:3}  {'loss':15}  {loss:17}  {f'all beside {others}':22}  {verdict}"]
    failed = questions_failed(runs, honest)
    if failed:
        alike = [bug for bug, each in bugs.items() if questions_failed(each, honest) == failed]
        said = "; ".join(alike) or "none of the planted ones"
        lines += ["", f"Bugs of the page's table that fail the same questions: {said}"]
    return "\n".join(lines)


def questions_failed(runs, honest):
    """Return the set of questions that fail with every seed, and the side of the loss."""
    always = {name for name, count in reports.failures(runs).items() if count == len(runs)}
    return always | set(reports.beside(runs, honest))


def main(arguments=None):
    """Examine the package that the command line names. What a person can put right is a sentence
    on stderr and exit status 2.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print(f"which package? {__doc__}", file=sys.stderr)
        return 2
    planted = measurements.load("planted_bugs")
    (steps,), seeds = planted["budget"]["steps"], planted["budget"]["seeds"]
    try:
        parts = parts_of(own_module(arguments[0]))
        said = ", ".join(parts) or "nothing that can be asked about"
        print(f"asking {said}; a minute or two", file=sys.stderr, flush=True)
        with one_thread(), failures_told():
            runs = examined(parts, steps, range(seeds))
    except (OwnModelError, ValueError) as error:
        print(f"examine: {error}", file=sys.stderr)
        return 2
    print(table(runs))
    print(summary(runs, planted))
    return 0


if __name__ == "__main__":
    sys.exit(main())
