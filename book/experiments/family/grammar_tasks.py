"""Five tasks on the English sentences of the course's grammar, which knows every answer exactly.

- kind: does the verb take an object, a predicate ("is tired"), or neither?
- roles: which part of the sentence does each word belong to?
- entities: which words are names, and which are places, in BIO notation?
- question: a part of the sentence is asked for; where does the answer begin, and where does it end?
- summary: the sentence without its adjuncts: those that say where, when and how.

BERT reads the answers off its vectors: of the first word for the kind, of each word for roles and
entities, and for a question by two scores a word. (A summary is the words whose role is no
adjunct.) It is trained by masked words on sentences without answers, and then on few sentences with
answers; beside it stand a BERT that was not trained before, the most frequent answer, and models
that only count words.
"""

from collections import Counter, defaultdict
from itertools import groupby

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.undisturbed import undisturbed
from solutions.ch13_family import mask_tokens
from solutions.family.models import Bert
from solutions.translator import corpus
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import PAD, SPECIALS

MASK = len(SPECIALS)
WORDS_BEFORE = (*SPECIALS, "<mask>", "<class>", "<asks>")
KINDS = ("object", "predicate", "neither")
ASKED = {"subject": "who", "object": "what", "place": "where", "time": "when"}
ADJUNCTS = ("place", "time", "manner")
ENTITIES = ("O", "B-name", "I-name", "B-place", "I-place")
TASKS = ("kind", "roles", "entities", "question")
SHAPE = {"max_len": 24, "d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 256}
BATCH, PEAK, WARM_UP = 64, 2e-3, 50
TEST = 1000


def kind(known):
    """Return what the verb of a sentence takes: one of `KINDS`."""
    return next((kind for kind in KINDS if kind in known.roles[0]), "neither")


def bio(known):
    """Return a tag for each English word: "B-name", "I-name" and so on, or "O"."""
    tags, before = [], ""
    for entity in known.entities[0]:
        tags.append(f"{'I' if entity == before else 'B'}-{entity}" if entity else "O")
        before = entity
    return tags


def span(known, role):
    """Return the words of a role, (start, end) with `end` excluded, where they stand together and
    the sentence has one such part; otherwise None.
    """
    runs, start = [], 0
    for found, words in groupby(known.roles[0]):
        end = start + len(list(words))
        if found == role:
            runs.append((start, end))
        start = end
    return runs[0] if len(runs) == 1 else None


def questions(known):
    """Return dict: question word -> the span that answers it."""
    found = {word: span(known, role) for role, word in ASKED.items()}
    return {word: answer for word, answer in found.items() if answer}


def summary(known):
    """Return the words of a sentence without its adjuncts."""
    pairs = zip(known.english, known.roles[0], strict=True)
    return [word for word, role in pairs if role not in ADJUNCTS]


class Reader(nn.Module):
    """BERT with a head for each task, and one that guesses hidden words."""

    def __init__(self, words):
        super().__init__()
        self.bert = Bert(len(words), **SHAPE, dropout=0.1)
        width = SHAPE["d_model"]
        self.heads = nn.ModuleDict(
            {
                "kind": nn.Linear(width, len(KINDS)),
                "roles": nn.Linear(width, 1 + len(corpus.ROLES)),
                "entities": nn.Linear(width, len(ENTITIES)),
                "question": nn.Linear(width, 2),
            }
        )

    def guessed(self, token_ids):
        """Score the words at each place: (batch, seq_len) -> (batch, seq_len, vocab_size)."""
        return self.bert(token_ids) @ self.bert.token_embedding.weight.T

    def forward(self, task, token_ids, types):
        """Score the answers of a task: (batch, classes) for the kind, (batch, seq_len, classes) for
        tags, (batch, 2, seq_len) for a question, where padding is out of the question.
        """
        x = self.bert(token_ids, types)
        if task == "kind":
            return self.heads[task](x[:, 0])
        if task == "question":
            scores = self.heads[task](x).mT
            return scores.masked_fill((token_ids == PAD)[:, None], -torch.inf)
        return self.heads[task](x)


class Data:
    """Sentences with their answers, as tensors.

    A sentence begins with `<class>`. Before it stands, where a question is asked, the question word
    and `<asks>`; these two are of type 1.
    """

    def __init__(self, words):
        self.ids = {word: number for number, word in enumerate(words)}
        tags = {"roles": ("", *corpus.ROLES), "entities": ENTITIES}
        self.tags = {
            task: {tag: number for number, tag in enumerate(known)} for task, known in tags.items()
        }

    def encoded(self, rows):
        return padded([[self.ids[word] for word in row] for row in rows])

    def of(self, task, sentences):
        """Return (token_ids, types, answers) of a task on annotated sentences.

        Answers are (n,) for the kind, (n, seq_len) with -100 where nothing is asked for tags, and
        (n, 2) for questions: the first and the last place of the answer.
        """
        rows = [["<class>", *known.english] for known in sentences]
        if task == "kind":
            answers = torch.tensor([KINDS.index(kind(known)) for known in sentences])
        elif task in self.tags:
            tags = [known.roles[0] if task == "roles" else bio(known) for known in sentences]
            numbers = [[0, *(self.tags[task][tag] for tag in row)] for row in tags]
            answers = padded(numbers).masked_fill(self.encoded(rows) == PAD, -100)
            answers[:, 0] = -100
        else:
            asked = [(known, *pair) for known in sentences for pair in questions(known).items()]
            rows = [[word, "<asks>", *known.english] for known, word, _ in asked]
            answers = torch.tensor([(start + 2, end + 1) for _, _, (start, end) in asked])
        token_ids = self.encoded(rows)
        types = torch.zeros_like(token_ids)
        if task == "question":
            types[:, :2] = 1
        return token_ids, types, answers


def loss_of(scores, answers):
    """Return the mean cross-entropy; classes are on the last axis."""
    return functional.cross_entropy(scores.flatten(0, -2), answers.flatten())


def right(task, scores, answers):
    """Return the share of answers that are right: of sentences for the kind, of words for roles,
    of whole spans for questions, and for entities the F1 of those named.
    """
    found = scores.argmax(dim=-1)
    if task == "entities":
        named = (answers > 0) & (found == answers)
        said = ((found > 0) & (answers != -100)).sum() + (answers > 0).sum()
        return (2 * named.sum() / said.clamp(min=1)).item()
    if task == "question":
        return (found == answers).all(dim=-1).float().mean().item()
    asked = answers != -100
    return (found == answers)[asked].float().mean().item()


def steps_of(parameters, steps):
    """Yield an optimizer for each step; its rate rises, and then falls to 0 along a line."""
    optimizer = torch.optim.AdamW(parameters, PEAK, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(steps):
        rate = PEAK * min((step + 1) / WARM_UP, (steps - step) / steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        yield optimizer


def update(optimizer, loss, model):
    """Make one step down a loss."""
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def pretrain(model, token_ids, words, steps):
    """Train a Reader to guess hidden words of sentences without answers."""
    model.train()
    special = [number for number, word in enumerate(words) if word in WORDS_BEFORE]
    for optimizer in steps_of(model.parameters(), steps):
        ids = token_ids[torch.randint(len(token_ids), (BATCH,))]
        draws = torch.rand(2, *ids.shape)
        others = torch.randint(len(WORDS_BEFORE), len(words), ids.shape)
        inputs, labels = mask_tokens(ids, MASK, special, *draws, others)
        if (labels != -100).any():
            update(optimizer, loss_of(model.guessed(inputs), labels), model)


def tune(model, task, data, steps):
    """Train a Reader on the answers of one task."""
    model.train()
    token_ids, types, answers = data
    for optimizer in steps_of(model.parameters(), steps):
        rows = torch.randint(len(token_ids), (min(BATCH, len(token_ids)),))
        update(optimizer, loss_of(model(task, token_ids[rows], types[rows]), answers[rows]), model)


@torch.no_grad()
def score(model, task, data):
    model.eval()
    token_ids, types, answers = data
    return right(task, model(task, token_ids, types), answers)


def counted(task, train, test):
    """Score what counts words: the most frequent answer (`majority`), and for the kind logistic
    regression on the words of the sentence, for tags the most frequent tag of each word, for
    questions the most frequent places (`words`).

    Args:
        train, test: as `Data.of` returns them.
    """
    ids, _, answers = train
    test_ids, _, wanted = test
    if task == "kind":
        bags = CountVectorizer(analyzer=list).fit(ids.tolist())
        model = LogisticRegression(max_iter=2000)
        model.fit(bags.transform(ids.tolist()), answers.numpy())
        found = torch.from_numpy(model.predict(bags.transform(test_ids.tolist())))
        return {
            "majority": (wanted == answers.mode().values).float().mean().item(),
            "words": (wanted == found).float().mean().item(),
        }
    if task == "question":
        places = {
            word: Counter(map(tuple, answers[ids[:, 0] == word].tolist())).most_common(1)[0][0]
            for word in ids[:, 0].unique().tolist()
        }
        (most, _), *_ = Counter(map(tuple, answers.tolist())).most_common(1)
        rows = list(zip(test_ids[:, 0].tolist(), map(tuple, wanted.tolist()), strict=True))
        return {
            "majority": sum(answer == most for _, answer in rows) / len(rows),
            "words": sum(answer == places.get(word, most) for word, answer in rows) / len(rows),
        }
    asked = answers != -100
    common = answers[asked].mode().values.item()
    tags = defaultdict(Counter)
    for word, tag in zip(ids[asked].tolist(), answers[asked].tolist(), strict=True):
        tags[word][tag] += 1
    of_words = torch.full((1 + max(int(test_ids.max()), *tags),), common)
    for word, counts in tags.items():
        of_words[word] = counts.most_common(1)[0][0]
    guesses = {"majority": torch.full_like(wanted, common), "words": of_words[test_ids]}
    return {
        name: right(task, functional.one_hot(guess, 16).float(), wanted)
        for name, guess in guesses.items()
    }


def measure(pretraining, labelled, steps, seeds):
    """Train and score.

    Args:
        pretraining: steps of the training by masked words.
        labelled: several numbers of sentences with answers.
        steps: of each training with answers.

    Returns:
        list of dict: `task`, `labelled`, `seed`, and the shares that are right of 1,000 sentences
        of which none was seen: `pretrained`, `from_scratch`, `words` and `majority`; and one dict a
        seed with `task` "summary": the share of whole summaries that are right if the words with
        the roles of adjuncts are dropped, of the tagger with the most labelled sentences, and of
        a `copy`.
    """
    unlabelled = [["<class>", *corpus.words(pair[0])] for pair in corpus.splits()["train"]]
    words = [*WORDS_BEFORE, *ASKED.values()]
    words += sorted({word for row in unlabelled for word in row} - set(words))
    data, known = Data(words), corpus.annotations()
    pool, test = known["validation"], known["random"][:TEST]
    sentences = data.encoded(unlabelled)
    return [
        row
        for seed in seeds
        for row in of_seed(seed, words, data, sentences, pool, test, pretraining, labelled, steps)
    ]


def of_seed(seed, words, data, sentences, pool, test, pretraining, labelled, steps):
    """Yield the entries of one seed, which also chooses the sentences with answers."""
    with undisturbed():
        torch.manual_seed(seed)
        order = torch.randperm(len(pool)).tolist()
        fresh = Reader(words)
        start = {name: each.clone() for name, each in fresh.state_dict().items()}
        pretrain(fresh, sentences, words, pretraining)
        pretrained = {name: each.clone() for name, each in fresh.state_dict().items()}
        for task in TASKS:
            wanted = data.of(task, test)
            for count in labelled:
                given = data.of(task, [pool[place] for place in order[:count]])
                row = {"task": task, "labelled": count, "seed": seed}
                for name, weights in (("pretrained", pretrained), ("from_scratch", start)):
                    fresh.load_state_dict(weights)
                    tune(fresh, task, given, steps)
                    row[name] = score(fresh, task, wanted)
                    if (task, name, count) == ("roles", "pretrained", max(labelled)):
                        summaries = summarised(fresh, data, test)
                yield row | counted(task, given, wanted)
        gold = [summary(each) for each in test]
        yield {
            "task": "summary",
            "labelled": max(labelled),
            "seed": seed,
            "pretrained": sum(a == b for a, b in zip(summaries, gold, strict=True)) / len(test),
            "copy": sum(list(a.english) == b for a, b in zip(test, gold, strict=True)) / len(test),
        }


@torch.no_grad()
def summarised(model, data, sentences):
    """Drop the words that a tagger of roles takes for adjuncts."""
    model.eval()
    token_ids, types, _ = data.of("roles", sentences)
    found = model("roles", token_ids, types).argmax(dim=-1)[:, 1:].tolist()
    out = {data.tags["roles"][role] for role in ADJUNCTS}
    return [
        [word for word, tag in zip(known.english, tags, strict=False) if tag not in out]
        for known, tags in zip(sentences, found, strict=True)
    ]


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="what does training by masked words spare of sentences with answers?",
    long={"pretraining": 4000, "labelled": (50, 200, 800), "steps": 300, "seeds": 3},
    initialisation="embeddings from a normal distribution of standard deviation 0.02, else"
    " PyTorch's default",
    measure=measure,
)
