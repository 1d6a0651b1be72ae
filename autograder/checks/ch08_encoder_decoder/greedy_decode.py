"""Translation, one likeliest word after the other."""

import torch
from torch import nn

from autograder.authoring.checks import Checks
from autograder.authoring.draw import weights, words
from autograder.authoring.drawn import drawn
from autograder.shared.probes import decoded, decoded_without_gradients, with_stand_ins
from solutions.ch08_encoder_decoder import greedy_decode

EOS = 2
CLEAR = 1e-3  # words whose scores are closer than this might change places by rounding
TABLES = ("src_embedding.weight", "tgt_embedding.weight", "generator.weight")
SIZES = (*((name, (10, 8)) for name in TABLES), ("generator.bias", (10,)))


@drawn
def sentences(rng, *lengths, train=False, **arguments):
    """Make the inputs of a case: a small model, which says nothing of its own in train mode, and
    sources.

    Args:
        lengths: how many ids the model writes for each source, the end counted; 0 where it goes on.
        arguments: further ones of `greedy_decode`.
    """
    ends = arguments.get("bos_id", 1), arguments.get("eos_id", EOS)
    longest, rows = arguments.get("max_len", 64) if 0 in lengths else 9, []
    while len(rows) < len(lengths):
        drawn = {name: 5 * each for name, each in weights(rng, SIZES).items()}
        drawn["generator.bias"][[0, ends[0]]] = -99.0  # no words
        given = {"stand_in": "translator", "weights": drawn, "dropout": 1.0, "train": train}
        model, src = with_stand_ins({"model": given})["model"], words(rng, 200, 3, vocab_size=10)
        ids = greedy_decode(model.eval(), src, longest, *ends)
        best, second = model(src, ids[:, :-1]).topk(2).values.unbind(-1)
        found = (ids == ends[1]).int().argmax(1)
        found[(best - second < CLEAR).any(1)] = -1
        rows = []
        for length in lengths:
            rows += [int(row) for row in torch.where(found == length)[0] if row not in rows][:1]
    return {"model": given, "src": src[rows], **arguments}


def lengths_in_any_order(rng):
    return sentences(rng, *rng.permutation([1, 2, 3, 5]).tolist(), train=True)


def greedy_with(
    enough=lambda ids, ended: bool(ended.all()),
    filler=lambda eos_id, next_ids: 0,
    remembered=lambda ended, ending: ended | ending,
    joined=lambda ids, next_ids: torch.cat([ids, next_ids[:, None]], dim=1),
    hidden_at=lambda hidden: hidden[:, -1],
    seen=lambda ids: ids,
    words_of=lambda model, hidden: model.generator(hidden).argmax(dim=-1),
    mode=nn.Module.eval,
    leave=nn.Module.train,
    remember=torch.no_grad,
):
    """Make a greedy decoder from its rules."""

    def decode(model, src, max_len=64, bos_id=1, eos_id=2):
        was_training = model.training
        mode(model)
        with remember():
            memory = model.encode(src)
            ids = torch.full((len(src), 1), bos_id)
            ended = torch.zeros(len(src), dtype=torch.bool)
            while ids.shape[1] < max_len and not enough(ids, ended):
                next_ids = words_of(model, hidden_at(model.decode(seen(ids), memory, src)))
                next_ids = torch.where(ended, filler(eos_id, next_ids), next_ids)
                ids = joined(ids, next_ids)
                ended = remembered(ended, next_ids == eos_id)
        leave(model, was_training)
        return ids

    return decode


checks = Checks(
    greedy_decode, family=greedy_with, shortcuts="generate greedy_search", probe=decoded
)
shown, hidden, wrong, right = checks.words

shown("one sentence", sentences(4), weight=4)
shown("two sentences that end at different times", sentences(3, 5), weight=2)
shown("the longer one first", sentences(6, 2))
shown("three that end together", sentences(3, 3, 3))
shown("a model in train mode comes back in train mode", sentences(4, train=True))
shown("no step is remembered", sentences(3), probe=decoded_without_gradients)
shown("max_len cuts a sentence that goes on", sentences(0, max_len=4))
shown("max_len reached just with the end", sentences(4, max_len=5))
shown("max_len=1 leaves room for the beginning alone", sentences(3, max_len=1))
shown("other ids for beginning and end", sentences(4, max_len=64, bos_id=3, eos_id=1))
hidden("one long sentence", sentences(8), weight=4)
hidden("many sentences", lengths_in_any_order, weight=2)
hidden("a sentence that ends at once beside a long one", sentences(1, 7))
hidden("none ends", sentences(0, 0, max_len=7))
hidden("max_len=2", sentences(3, max_len=2))
hidden("64 ids by default", sentences(0))
hidden("max_len=1 for one sentence", sentences(3, max_len=1))
hidden("an end that is also the highest id", sentences(5, max_len=64, bos_id=2, eos_id=9))
hidden("train mode, one sentence", sentences(5, train=True))
hidden("no step is remembered, of a long one", sentences(6), probe=decoded_without_gradients)


wrong(
    "the first end ends all",
    "One sentence has ended, and another still goes on. How many must have ended before you stop?",
    enough=lambda ids, ended: bool(ended.any()),
)


wrong(
    "all sentences must end at the same step",
    """Your loop goes on after every sentence has ended. Does it remember a sentence that ended some
    steps ago?""",
    enough=lambda ids, ended: ids.shape[1] > 1 and bool((ids[:, -1] == EOS).all()),
)


wrong(
    "a sentence has ended while its last word is the end",
    """A sentence that ended some steps ago is forgotten. What does your boolean of a row hold one
    step after its end?""",
    remembered=lambda ended, ending: ending,
)


wrong(
    "the result always has max_len columns",
    hint="The ids are right, and there are too many columns. How long is the longest sentence?",
    enough=lambda ids, ended: False,
)


wrong(
    "one word more fits behind max_len",
    "Count the ids in a row of your result against max_len, the first one included.",
    max_len=lambda max_len: max_len + 1,
)


wrong(
    "max_len is one word too many",
    "Your longest sentence stops one id too early. When exactly is it full?",
    max_len=lambda max_len: max(1, max_len - 1),
)


wrong(
    "an ended sentence goes on",
    """After its end a sentence still gets words. What should a row that has ended get, while others
    go on?""",
    filler=lambda eos_id, next_ids: next_ids,
)


wrong(
    "an ended sentence is filled with ends",
    "A sentence ends once. What should come after its end?",
    filler=lambda eos_id, next_ids: eos_id,
)


wrong(
    "the beginning does not belong to the result",
    "The words are right. What is the first id of each row, according to the docstring?",
    then=lambda ids: ids[:, 1:],
)


wrong(
    "the end does not belong to the result",
    hint="The words are right. Should a reader of your result see where a sentence ended?",
    then=lambda ids: ids.masked_fill(ids == EOS, 0),
)


wrong(
    "sentences begin with 1 and end with 2",
    "Right for the default ids. What has become of the last two arguments?",
    bos_id=1,
    eos_id=2,
)


wrong(
    "every language ends a sentence with 2",
    hint="Right for the default ids. Which id ends a sentence, when the caller says so?",
    eos_id=2,
)


wrong(
    "only the first sentence is translated",
    "How many rows does the source have, and how many does your result have?",
    src=lambda src: src[:1],
)


wrong(
    "the next word stands at the first position",
    """You write the same word again and again. Which position of the decoder knows all the words so
    far?""",
    hidden_at=lambda hidden: hidden[:, 0],
)


wrong(
    "every position gives a next word",
    """How many positions does your next word come from? Which one of them knows all the words so
    far?""",
    hidden_at=lambda hidden: hidden,
)


wrong(
    "the first axis counts positions",
    """You take the vectors of the last sentence. Which axis of what `decode` returns counts
    sentences, and which positions?""",
    hidden_at=lambda hidden: hidden[-1],
)


wrong(
    "ids can be appended as they are",
    """The ids so far have two axes. How many have the next ones, and which one is missing?""",
    joined=lambda ids, next_ids: torch.cat([ids, next_ids], dim=1),
)


wrong(
    "ids are appended as a row",
    """Your ids become more rows, not longer ones. Along which axis does a sentence grow?""",
    joined=lambda ids, next_ids: torch.cat([ids, next_ids[:, None]], dim=0),
)


wrong(
    "argmax looks at each row by itself",
    """Right for a single sentence. Over how many numbers does your argmax run, and how many words
    does it return for two sentences?""",
    words_of=lambda model, hidden: model.generator(hidden).argmax(),
)


wrong(
    "the decoder needs the last word alone",
    """The first word is right, and the next ones are not. What does the decoder get to see of what
    it has written?""",
    seen=lambda ids: ids[:, -1:],
)


wrong(
    "the decoder's vectors are scores",
    """How many numbers does the decoder return at a position, and how many words are there? One
    part of the model is not used.""",
    words_of=lambda model, hidden: hidden.argmax(dim=-1),
)


wrong(
    "the model stays in eval mode",
    """Somebody who calls your function in the middle of training will go on training the model.
    Which mode did it come in?""",
    leave=lambda model, was_training: None,
)


wrong(
    "the model always goes back to train mode",
    "Not everybody who calls your function is training. Which mode did the model come in?",
    leave=lambda model, was_training: model.train(),
)


wrong(
    "the mode does not matter",
    "In train mode dropout is on, and the same sentence would be translated differently each time.",
    mode=lambda model: None,
)


wrong(
    "gradients do no harm",
    "Nobody will backpropagate through these steps, but each of them is remembered for that.",
    remember=torch.enable_grad,
)


@right
def by_forward(model, src, max_len=64, bos_id=1, eos_id=2):
    """Asks the whole model each time, in inference mode, into a tensor of full length that is cut
    at the end.
    """
    mode = model.training
    model.train(False)
    with torch.inference_mode():
        ids = torch.zeros(len(src), max_len, dtype=torch.int64)
        ids[:, 0], length, alive = bos_id, 1, torch.ones(len(src), dtype=torch.bool)
        while length < max_len and alive.any():
            ids[:, length] = model(src, ids[:, :length])[:, -1].argmax(-1) * alive
            alive &= ids[:, length] != eos_id
            length += 1
    model.train(mode)
    return ids[:, :length].clone()


@right
@torch.no_grad()
def without_ended_rows(model, src, max_len=64, bos_id=1, eos_id=2):
    """Asks the model for the rows that still run."""
    mode = model.training
    model.eval()
    rows = [[bos_id] for _ in src]
    running = list(range(len(src)))
    while running and len(rows[running[0]]) < max_len:
        part = src[running]
        ids = torch.tensor([rows[i] for i in running])
        hidden = model.decode(ids, model.encode(part), part)
        words_next = model.generator(hidden)[:, -1].argmax(-1)
        for i, word in zip(running, words_next.tolist(), strict=True):
            rows[i].append(word)
        running = [i for i in running if rows[i][-1] != eos_id]
    model.train(mode)
    return nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True)


@right
def row_by_row(model, src, *others):
    """Each sentence by itself, then filled up."""
    rows = [by_forward(model, source[None], *others)[0] for source in src]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)
