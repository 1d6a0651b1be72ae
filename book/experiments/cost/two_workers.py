r"""Data parallelism on one machine: each process has a part of every batch, and both
train one model.

    python -m torch.distributed.run --standalone --nproc-per-node 2 \
        -m book.experiments.cost.two_workers

Prints one line of JSON: `words`, how many each worker had in the first batch, `steps`, and for each
of two averages of the workers' gradients: `gradient`, how far the first one is from the gradient of
the whole batch, as a share of its length; `copies`, the largest difference between the weights of
two workers after the last step; and `alone`, that to a process that trained alone on whole batches.
"""

import json

import torch
from torch import distributed, nn

from solutions.ch08_encoder_decoder import Transformer
from solutions.ch09_training import label_smoothed_loss

SIZES = 40, 40, 32, 4, 1, 1, 64, 0.0
LENGTHS = (12, 11, 10, 9, 3, 2, 2, 1)  # words of each target: the first worker has the long ones
STEPS, RATE = 20, 0.1


def a_batch():
    """Return the next sources and targets, the same in every process."""
    src = torch.randint(4, 40, (len(LENGTHS), 9))
    tgt = torch.randint(4, 40, (len(LENGTHS), 14))
    tgt[:, 0] = 1
    for row, length in zip(tgt, LENGTHS, strict=True):
        row[length + 1], row[length + 2 :] = 2, 0
    return src, tgt


def gradient(model, src, tgt):
    """Return the gradient of the mean loss per word, as one long vector."""
    loss = label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:])
    return nn.utils.parameters_to_vector(torch.autograd.grad(loss, list(model.parameters())))


def alone(model, src, tgt):
    """The whole batch in one process."""
    return gradient(model, src, tgt)


def by_words(model, src, tgt):
    """This worker's part, the mean over all words."""
    src, tgt = my_part(src, tgt)
    words = (tgt[:, 1:] != 0).sum()
    total = words * gradient(model, src, tgt)
    distributed.all_reduce(total)  # now the sum over all workers
    distributed.all_reduce(words)
    return total / words


def plain_mean(model, src, tgt):
    """This worker's part, the mean over all workers."""
    total = gradient(model, *my_part(src, tgt))
    distributed.all_reduce(total)
    return total / distributed.get_world_size()


def my_part(*batch):
    """Return the rows of this process."""
    rank, workers = distributed.get_rank(), distributed.get_world_size()
    return [each.chunk(workers)[rank] for each in batch]


def train(average):
    """Take steps with a plain gradient descent.

    Args:
        average: returns the gradient of a batch.

    Returns:
        the first gradient and the weights after the last step, each as one long vector.
    """
    torch.manual_seed(0)  # the same weights and batches in every process
    model, gradients = Transformer(*SIZES), []
    for _ in range(STEPS):
        gradients.append(average(model, *a_batch()))
        weights = nn.utils.parameters_to_vector(model.parameters())
        nn.utils.vector_to_parameters(weights - RATE * gradients[-1], model.parameters())
    return gradients[0], nn.utils.parameters_to_vector(model.parameters()).detach()


def largest(difference):
    return float(difference.abs().max())


def main():
    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    Transformer(*SIZES)
    _, tgt = my_part(*a_batch())
    words = (tgt[:, 1:] != 0).sum()
    all_words = [torch.empty_like(words) for _ in range(distributed.get_world_size())]
    distributed.all_gather(all_words, words)

    found = {"words": torch.stack(all_words).tolist(), "steps": STEPS}
    whole, expected = train(alone)
    for average in (by_words, plain_mean):
        first, weights = train(average)
        others = weights.clone()
        distributed.broadcast(others, src=0)  # the weights of worker 0
        apart = (weights - others).abs().max()
        distributed.all_reduce(apart, distributed.ReduceOp.MAX)
        found[average.__name__] = {
            "gradient": float((first - whole).norm() / whole.norm()),
            "copies": float(apart),
            "alone": largest(weights - expected),
        }
    if distributed.get_rank() == 0:
        print(json.dumps(found))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
