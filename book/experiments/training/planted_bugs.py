"""Bugs planted in the loop of chapter 9, one by one, and the questions that a suspicious person
asks of a model and its loop: which question finds which bug?

The questions are `QUESTIONS`; each has a known answer. The bugs are in `bugs`.
"""

import math

import torch

from book.experiments import Experiment
from book.experiments.training import training_loop
from book.experiments.training.bugs import BUGS

ALIKE = 1e-4  # logits, losses and gradients that differ by less are the same up to rounding
ONE_BATCH_STEPS = 60
FORCED = 200  # sentences, at most, that are translated and then forced on what was written


class OneBatch:
    """The same batch in every epoch.

    Args:
        src, tgt: (batch, src_len) and (batch, tgt_len) int64.
    """

    def __init__(self, *tensors):
        self.pair = tensors

    def epoch(self, number):
        """Return the only index."""
        return [0]

    def tensors(self, index):
        """Return the batch."""
        return self.pair


class Suspect:
    """A model and a loop, with a bug or without, that can be asked.

    Args:
        bug: a Bug.
        seed: of the model.
    """

    def __init__(self, bug, seed=0):
        self.bug, self.seed = bug, seed
        self.page = training_loop.loop_with(self.bug.edits, **self.bug.names)
        edits = (*self.bug.edits, ("smoothing=0.1", "smoothing=0.0"))
        self.without_smoothing = training_loop.loop_with(edits, **self.bug.names)
        sources, targets = self.page["training"].tensors(self.page["training"].epoch(0)[0][:12])
        self.src, self.tgt = sources, targets

    def model(self, **named):
        """Return a new model; it drops out only where it is trained in earnest, so that two answers
        can be compared.
        """
        return self.page["new_model"](seed=self.seed, **self.bug.model | named)

    def loss_at_the_start(self, src, tgt):
        """Return the loss that the loop reports for a batch, of a model that never moves."""
        train, batch = self.without_smoothing["train"], OneBatch(src, tgt)
        *_, (_, loss, *_) = train(self.model(dropout=0.0), batch, (src, tgt), steps=20, highest=0.0)
        return loss

    def first_loss(self):
        """Return how far the first loss is from ln V."""
        vocab_size = self.page["italian"].vocab_size
        return self.loss_at_the_start(self.src, self.tgt) - math.log(vocab_size)

    @torch.no_grad()
    def moved(self, src=None, tgt=None):
        """Return how much the logits at all positions but the last move, at most, if the model
        reads another source or target.
        """
        model = self.model(dropout=0.0).eval()
        before = model(self.src, self.tgt)
        after = model(
            self.src if src is None else src,
            self.tgt if tgt is None else tgt,
        )
        return (after - before)[:, :-1].abs().max().item()

    def later_word(self):
        """Return how much logits move if the last word of the target is another."""
        return self.moved(tgt=torch.cat([self.tgt[:, :-1], self.tgt[:, -1:] + 1], dim=1))

    @torch.no_grad()
    def scores(self):
        """Return the standard deviation of the encoder's first scores."""
        model, seen = self.model(dropout=0.0).eval(), []
        attention = model.encoder[0].self_attention
        for projection in (attention.w_q, attention.w_k):
            projection.register_forward_hook(lambda module, given, made: seen.append(made))
        model(self.src, self.tgt)
        query, key = (
            each.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for each in seen
        )
        scores = query @ key.mT / math.sqrt(query.shape[-1])  # (batch, heads, query_len, key_len)
        words = self.src != 0
        return (
            torch.stack([each[..., row].std() for each, row in zip(scores, words, strict=True)])
            .mean()
            .item()
        )

    def other_source(self):
        """Return how much logits move if each target gets another source."""
        return self.moved(src=self.src.flip(0))

    def source_padding(self):
        """Return how much logits move if the source gets two more places of padding."""
        return self.moved(src=torch.nn.functional.pad(self.src, (0, 2)))

    def target_padding(self):
        """Return how much the loss moves if the target gets two more places of padding."""
        longer = torch.nn.functional.pad(self.tgt, (0, 2))
        start = self.loss_at_the_start
        return abs(start(self.src, longer) - start(self.src, self.tgt))

    def old_gradients(self):
        """Return how much, of the length of 1, the gradient of one batch differs if another batch
        came before it.
        """
        first = self.src.flip(0), self.tgt
        second = self.src, self.tgt

        def gradient(*batches):
            model, both = self.model(dropout=0.0), iter(batches)
            source = OneBatch()
            source.tensors = lambda index: next(both)
            train = self.without_smoothing["train"]
            train(model, source, second, steps=len(batches), highest=0.0)
            found = [each.grad.flatten() for each in model.parameters() if each.grad is not None]
            return torch.nn.functional.normalize(torch.cat(found), dim=0)

        return (gradient(first, second) - gradient(second)).norm().item()

    def one_batch(self):
        """Return the last loss of sixty steps with one batch."""
        train, batch = self.without_smoothing["train"], (self.src, self.tgt)
        *_, (_, loss, *_) = train(
            self.model(dropout=0.0), OneBatch(*batch), batch, steps=ONE_BATCH_STEPS, warmup=10
        )
        return loss

    def trained(self, steps):
        """Return the model after a run of the loop, and the last validation loss."""
        model = self.model()
        batches = self.page["batches_of"](self.page["easy"]["train"], seed=self.seed)
        *_, last = self.page["train"](model, batches, self.page["validation"], steps=steps)
        return model, last[2]

    def written(self, model):
        """Return the held-out sources, (sentences, src_len), and what is written, as ids."""
        sources, _ = zip(*training_loop.held_out(self.page)[:FORCED], strict=True)
        src = self.page["padded"](self.page["english"].encode(list(sources)))
        torch.manual_seed(0)
        return src, self.bug.decode(self.page, model, src)

    def exact(self, ids):
        """Return the part of the held-out sentences of which the ids are the reference."""
        _, references = zip(*training_loop.held_out(self.page)[:FORCED], strict=True)
        said = [
            self.page["italian"].decode([each for each in row if each > 2]) for row in ids.tolist()
        ]
        return sum(map(str.__eq__, said, references)) / len(references)

    @torch.no_grad()
    def forced(self, model, src, ids):
        """Return the part of the rows in which the likeliest words are those that follow, if the
        model reads `ids`, (batch, tgt_len) from `<bos>`.
        """
        model.eval()
        likeliest = model(src, ids[:, :-1]).argmax(dim=-1)
        words = ids[:, 1:] != 0
        return (~words | (likeliest == ids[:, 1:])).all(dim=1).double().mean().item()

    @torch.no_grad()
    def exchanged(self, model):
        """Return by how much the validation loss rises if each target gets another's source."""
        model.eval()
        src, tgt = self.page["validation"]
        decoder_input, expected = training_loop.teacher_forcing_pair(tgt)

        def loss(src):
            logits = model(src, decoder_input)
            return training_loop.label_smoothed_loss(logits, expected, smoothing=0.0).item()

        return loss(src.roll(1, 0)) - loss(src)


# What is asked, the cheapest first -> (the method that answers, whether an answer is as it should
# be). The first seven need no training, the eighth some seconds.
QUESTIONS = {
    "first_loss": lambda answer: abs(answer) < 0.5,
    "scores": lambda answer: 0.2 < answer < 0.6,  # 1/3, as PyTorch draws the projections
    "later_word": lambda answer: answer < ALIKE,
    "other_source": lambda answer: answer > 100 * ALIKE,
    "source_padding": lambda answer: answer < ALIKE,
    "target_padding": lambda answer: answer < ALIKE,
    "old_gradients": lambda answer: answer < 100 * ALIKE,
    "one_batch": lambda answer: answer < 0.1,
    "exchanged": lambda answer: answer > 0.5,
    "forced": lambda answer: answer == 1,
}
BEFORE_TRAINING = tuple(QUESTIONS)[:8]


def answers(bug, seed=0, questions=BEFORE_TRAINING):
    """Ask what can be asked before training.

    Returns:
        dict: question -> answer, a float.
    """
    return asked(Suspect(BUGS[bug], seed), questions)


def asked(suspect, questions=BEFORE_TRAINING):
    """Return dict: question -> answer, a float."""
    return {name: getattr(suspect, name)() for name in questions}


def found_by(run):
    """Return the questions, in their order, that a run answers as no honest one would.

    Args:
        run: of `measure`.
    """
    return [
        name
        for name, is_right in QUESTIONS.items()
        if name in run["answers"] and not is_right(run["answers"][name])
    ]


def measure(steps, seeds):
    """Plant each bug, ask, train, and ask again.

    Returns:
        list of dict: `bug`, `steps`, `seed`, `loss` on the validation sentences, without smoothing
        (as the loop reports it), `exact`, the part of 200 held-out sentences that came out right,
        and `answers`: question -> answer.
    """
    runs = []
    for bug in BUGS:
        for seed in seeds:
            suspect = Suspect(BUGS[bug], seed)
            before = asked(suspect)
            for budget in steps:
                model, loss = suspect.trained(budget)
                exact, after = asked_of_a_trained(suspect, model)
                after["forced_on_the_reference"] = reference_match(suspect, model)
                told = {name: round(value, 5) for name, value in (before | after).items()}
                seen = {"loss": round(loss, 4), "exact": exact}
                runs.append({"bug": bug, "steps": budget, "seed": seed, **seen, "answers": told})
    return runs


def asked_of_a_trained(suspect, model):
    """Return the part of 200 held-out sentences that came out right, and dict: question -> answer,
    of the questions that need a trained model.
    """
    src, ids = suspect.written(model)
    answers = {
        "exchanged": suspect.exchanged(model),
        "forced": suspect.forced(model, src, ids),
    }
    return round(suspect.exact(ids), 4), answers


def reference_match(suspect, model):
    """Return the part of the held-out sentences of which greedy decoding writes what is likeliest
    word by word if the model reads the reference.
    """
    _, targets = zip(*training_loop.held_out(suspect.page)[:FORCED], strict=True)
    src, ids = suspect.written(model)
    italian, padded = suspect.page["italian"], suspect.page["padded"]
    tgt = padded([[1, *row, 2] for row in italian.encode(list(targets))])
    with torch.no_grad():
        likeliest = model.eval()(src, tgt[:, :-1]).argmax(dim=-1).masked_fill(tgt[:, 1:] == 0, 0)
    width = max(likeliest.shape[1], ids.shape[1] - 1)
    same = [
        torch.nn.functional.pad(each, (0, width - each.shape[1]))
        for each in (likeliest, ids[:, 1:])
    ]
    return (same[0] == same[1]).all(dim=1).double().mean().item()


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="which question finds which bug, and what does each bug cost?",
    short={"steps": ONE_BATCH_STEPS, "seeds": 1},
    long={"steps": (200,), "seeds": 3},
    initialisation=training_loop.EXPERIMENT.initialisation,
    measure=measure,
)
