"""Uses torch beside NumPy: tensors, gradients, a small network, and shared memory."""

# %%
import torch

layer = torch.nn.Linear(4, 4)
layer(torch.ones(2, 4)).sum().backward()
shared = torch.zeros(3).share_memory_()
torch.save(layer.state_dict(), "layer.pt")
torch.load("layer.pt")
