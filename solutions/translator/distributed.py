"""Training in several processes at once, one for each device."""

import os

import torch
import torch.distributed as dist
from torch import nn


class Team:
    """The processes that train together, started by torchrun; or this one alone."""

    def __init__(self):
        self.size, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        cuda = torch.cuda.is_available()
        local_rank = int(os.environ.get("LOCAL_RANK", 0))
        self.device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if cuda else "gloo")

    @property
    def is_first(self):
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def sum(self, *numbers):
        """Add numbers up over all processes."""
        if self.size == 1:
            return numbers
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return total.tolist()

    def gather(self, value):
        """Return what each process has, in the order of their ranks."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def agree(self, number):
        """Return the first process's number, in all of them."""
        if self.size == 1:
            return number
        agreed = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.broadcast(agreed, 0)
        return agreed.item()

    def wrap(self, objective):
        """Have gradients averaged over all processes."""
        return objective if self.size == 1 else nn.parallel.DistributedDataParallel(objective)

    def wait(self):
        """Wait until all processes have come to this point."""
        if self.size > 1:
            dist.barrier()

    def close(self):
        """End the team, once all processes have come to this point: to the others, one that left
        early would look like a crash.
        """
        self.wait()
        if dist.is_initialized():
            dist.destroy_process_group()
