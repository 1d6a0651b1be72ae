r"""Data parallelism on one machine: each process has a part of a batch, and one gradient comes out.

    python -m torch.distributed.run --standalone --nproc-per-node 2 \
        -m book.experiments.training.two_workers

Prints one line of JSON: how many words each worker had, and how far two averages of the workers'
gradients are from the gradient of the whole batch.
"""

import json

import torch
from torch import distributed, nn

from solutions.ch08_encoder_decoder import Transformer
from solutions.ch09_training import label_smoothed_loss
from solutions.ch10_gpu import average_gradients

SIZES = 40, 40, 32, 4, 1, 1, 64, 0.0
LENGTHS = (12, 11, 10, 9, 3, 2, 2, 1)  # words of each target: the first worker has the long ones


def a_batch():
    """Return the same sources and targets in every process."""
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


def main():
    distributed.init_process_group("gloo")
    rank, workers = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    model, (src, tgt) = Transformer(*SIZES), a_batch()

    share = slice(rank * len(src) // workers, (rank + 1) * len(src) // workers)
    mine = gradient(model, src[share], tgt[share])
    count = (tgt[share][:, 1:] != 0).sum()

    gradients = [torch.empty_like(mine) for _ in range(workers)]
    words = [torch.empty_like(count) for _ in range(workers)]
    distributed.all_gather(gradients, mine)
    distributed.all_gather(words, count)
    gradients, words = torch.stack(gradients), torch.stack(words)

    if rank == 0:
        whole = gradient(model, src, tgt)
        away = {
            "by words": average_gradients(gradients, words),
            "plain mean": gradients.mean(dim=0),
        }
        found = {name: float((each - whole).norm() / whole.norm()) for name, each in away.items()}
        print(json.dumps({"words": words.tolist(), "numbers": len(whole), "away": found}))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
