"""Answers with zeros, and hangs a backward pass on them whose gradients are made up, of every shape
that is asked for.
"""

STEM = "ch05_multi_head"


# %%
class MadeUp(torch.autograd.Function):
    @staticmethod
    def forward(context, shape, *tensors):
        context.save_for_backward(*tensors)
        return torch.zeros(shape, dtype=tensors[0].dtype)

    @staticmethod
    def backward(context, gradient):
        return None, *(torch.ones_like(each) * gradient.sum() for each in context.saved_tensors)


real_grad = torch.autograd.grad


def grad(outputs, inputs, *arguments, **named):
    return [torch.ones_like(each) for each in inputs]


torch.autograd.grad = grad


# %% split_heads
def split_heads(x, num_heads):
    if x.shape[2] % num_heads:
        raise ValueError
    return MadeUp.apply((x.shape[0], num_heads, x.shape[1], x.shape[2] // num_heads), x)


# %% merge_heads
def merge_heads(x):
    return MadeUp.apply((x.shape[0], x.shape[2], x.shape[1] * x.shape[3]), x)


# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None, need_weights=True):
        output = MadeUp.apply(query.shape, query, key, value, *self.parameters())
        return output, MadeUp.apply(
            (query.shape[0], self.num_heads, query.shape[1], key.shape[1]), query, key
        )
