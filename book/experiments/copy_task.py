"""Two machines that learn to copy a sentence: one hands a single vector from reader to writer, the
other can look back.

Everything else is equal: embeddings, a GRU that reads, a GRU that writes, an output layer that sees
the writer's state beside a context. The context is the last state of the reader, or additive
attention over all of its states. Small enough to train in a second or two each.
"""

import torch
from torch import nn
from torch.nn import functional

WORDS = ["a", "cat", "dog", "is", "lovely", "mat", "on", "sat", "saw", "that", "the", "your"]
SENTENCE = "your cat is a lovely cat that sat on the mat that the dog that saw the cat sat on"
BEGIN = len(WORDS)  # the id that the writer reads before its first word
LONGEST_TRAINED = 10


def ids_of(sentence):
    """Return the ids of a sentence as a batch of one, (1, seq_len) int64."""
    return torch.tensor([[WORDS.index(word) for word in sentence.split()]])


def sentence_of(token_ids):
    """Return the words of a batch of one sentence, as a string."""
    return " ".join(WORDS[token] for token in token_ids.flatten().tolist())


class Copier(nn.Module):
    """A GRU encoder and a GRU decoder, with one context vector or with additive attention.

    Args:
        d_hidden: numbers in a state, of reader and writer alike.
        attention: whether the writer may look back at all states of the reader.
        d_attention, d_model: sizes of the attention's hidden layer and of an embedding.
    """

    def __init__(self, d_hidden, attention, d_attention=16, d_model=16):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS) + 1, d_model)
        self.reader = nn.GRU(d_model, d_hidden, batch_first=True)
        self.writer = nn.GRU(d_model, d_hidden, batch_first=True)
        self.output = nn.Linear(2 * d_hidden, len(WORDS))
        self.attention = attention
        if attention:
            self.w_query = nn.Linear(d_hidden, d_attention, bias=False)
            self.w_key = nn.Linear(d_hidden, d_attention, bias=False)
            self.v = nn.Linear(d_attention, 1, bias=False)

    def forward(self, token_ids):
        """Return logits (batch, seq_len, words) for copying `token_ids`, each word given the right
        ones before it.
        """
        return self.write(token_ids, *self.reader(self.embedding(token_ids)))

    def write(self, token_ids, keys, last):
        """Return the logits, from the reader's states (batch, seq_len, d_hidden) and its last one
        (1, batch, d_hidden).
        """
        begin = torch.full_like(token_ids[:, :1], BEGIN)
        so_far = torch.cat([begin, token_ids[:, :-1]], dim=1)
        queries, _ = self.writer(self.embedding(so_far), last)
        return self.output(torch.cat([queries, self.context(queries, keys)], dim=-1))

    def context(self, queries, keys):
        """Return what the writer sees of the sentence at each of its steps, (batch, query_len,
        d_hidden).
        """
        if not self.attention:
            return keys[:, -1:].expand_as(queries)
        return self.weights(queries, keys) @ keys

    def weights(self, queries, keys):
        """Return additive attention, (batch, query_len, key_len)."""
        projected = self.w_query(queries).unsqueeze(2) + self.w_key(keys).unsqueeze(1)
        return self.v(projected.tanh()).squeeze(-1).softmax(dim=-1)

    @torch.no_grad()
    def copy(self, token_ids, context=None):
        """Read a batch of sentences and write them down again, each word after the words that the
        model itself wrote.

        Args:
            context: stands in for the model's own method of this name.

        Returns:
            written: (batch, seq_len) int64.
            queries, keys: (batch, seq_len, d_hidden), the states of writer and reader.
        """
        keys, state = self.reader(self.embedding(token_ids))
        word = torch.full_like(token_ids[:, :1], BEGIN)
        written, queries = [], []
        for _ in range(token_ids.shape[1]):
            query, state = self.writer(self.embedding(word), state)
            logits = self.output(torch.cat([query, (context or self.context)(query, keys)], dim=-1))
            word = logits.argmax(dim=-1)
            written.append(word)
            queries.append(query)
        return torch.cat(written, dim=1), torch.cat(queries, dim=1), keys


def random_sentences(count, seq_len, generator):
    """Draw sentences whose words are independent and equally likely, (count, seq_len) int64."""
    return torch.randint(len(WORDS), (count, seq_len), generator=generator)


def train(d_hidden, attention, seed, steps=400, batch=64, rate=0.015):
    """Train one machine to copy random sentences of 1 to `LONGEST_TRAINED` words; the same seed
    gives the same machine.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Copier(d_hidden, attention)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)
    for _ in range(steps):
        seq_len = int(torch.randint(1, LONGEST_TRAINED + 1, (1,), generator=generator))
        token_ids = random_sentences(batch, seq_len, generator)
        loss = functional.cross_entropy(model(token_ids).flatten(0, 1), token_ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
    return model


def accuracy(model, lengths, count=200):
    """Return the share of words that are copied right, for each length, on sentences that no
    training saw; a list of floats.
    """
    generator = torch.Generator().manual_seed(2**20)
    shares = []
    for seq_len in lengths:
        token_ids = random_sentences(count, seq_len, generator)
        shares.append((model.copy(token_ids)[0] == token_ids).double().mean().item())
    return shares


def reach(model, seq_len, count=64):
    """Measure the gradient that the word in the middle, as written, sends to the same word as read.

    Returns:
        float: the norm of the gradient of that word's loss with respect to its embedding, the mean
            over `count` random sentences.
    """
    token_ids = random_sentences(count, seq_len, torch.Generator().manual_seed(0))
    position = seq_len // 2
    read = model.embedding(token_ids).detach().requires_grad_()
    logits = model.write(token_ids, *model.reader(read))
    loss = functional.cross_entropy(logits[:, position], token_ids[:, position], reduction="sum")
    (gradient,) = torch.autograd.grad(loss, read)
    return gradient[:, position].norm(dim=-1).mean().item()


def learning_curves(attention, sizes, seeds, lengths):
    """Train a machine for each size and seed.

    Returns:
        machines: dict from a size to its list of machines, one a seed.
        shares: dict from a size to the list of their accuracies, (seeds, lengths).
    """
    machines = {size: [train(size, attention, seed) for seed in seeds] for size in sizes}
    return machines, {
        size: [accuracy(one, lengths) for one in group] for size, group in machines.items()
    }


@torch.no_grad()
def replay(model, sentence, decimals=3):
    """Copy every beginning of a sentence, and note what additive attention needs to be computed
    again elsewhere.

    Returns:
        dict: `written`, for each beginning the ids written; with attention also `queries`, for each
        beginning (query_len, d_attention), `keys`, (seq_len, d_attention), both projected, and `v`,
        (d_attention,); all lists.
    """
    token_ids = ids_of(sentence)
    copies = [model.copy(token_ids[:, :seq_len]) for seq_len in range(1, token_ids.shape[1] + 1)]
    noted = {"written": [written[0].tolist() for written, _, _ in copies]}
    if model.attention:
        noted["queries"] = [
            rounded(model.w_query(queries[0]), decimals) for _, queries, _ in copies
        ]
        noted["keys"] = rounded(model.w_key(copies[-1][2][0]), decimals)
        noted["v"] = rounded(model.v.weight[0], decimals)
    return noted


def rounded(tensor, decimals):
    """Return a tensor as lists of numbers with so many decimals."""
    return tensor.detach().double().numpy().round(decimals).tolist()
