"""Softmax and attention as others write them."""

import numpy as np
import torch

from solutions.ch04_attention import attention_scores as right_scores
from tests.strangers import keeps


@keeps(0.97, "a denominator with 1e-12 more", of="softmax")
def with_an_epsilon(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / (np.sum(exponentials, axis=axis, keepdims=True) + 1e-12)


@keeps(0.5, "one maximum for the whole array: distant rows are nan", most=0.85, of="softmax")
def by_a_global_maximum(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores))
    with np.errstate(all="ignore"):
        return exponentials / np.sum(exponentials, axis=axis, keepdims=True)


@keeps(0.5, "exponentials that overflow", most=0.8, of="softmax")
def naive(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)


@keeps(0.35, "a row or the rows of a matrix, and no other axis", most=0.7, of="softmax")
def of_at_most_two_axes(scores, axis=-1):
    if scores.ndim == 1:
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum()
    exponentials = np.exp(scores - scores.max(axis=1)[:, None])
    return exponentials / exponentials.sum(axis=1)[:, None]


@keeps(0.5, "the axis is always the last one", most=0.8, of="softmax")
def along_the_last_axis(scores, axis=None):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


@keeps(0.9, "it computes in float64 and stays there", most=0.99, of="softmax")
def in_float64(scores, axis=-1):
    scores = np.array(scores, dtype=float)
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@keeps(0.9, "np.sqrt widens float32", most=0.99, of="attention_scores")
def by_numpys_root(query, key):
    return np.matmul(query, np.swapaxes(key, -1, -2)) / np.sqrt(query.shape[-1])


@keeps(0.45, "queries and keys have two axes", most=0.65, of="attention_scores")
def of_matrices(query, key):
    scores = query @ key.T
    return (scores / key.shape[1] ** 0.5).astype(query.dtype)


@keeps(0.45, "queries and keys come in batches, with three axes", most=0.85, of="attention_scores")
def of_batches(query, key):
    query, key = torch.tensor(query), torch.tensor(key)
    if query.dim() == 2:
        return (query @ key.t() / query.size(-1) ** 0.5).numpy()
    return (torch.bmm(query, key.transpose(1, 2)) / query.size(-1) ** 0.5).numpy()


@keeps(
    0.9, "its scale is a float32 tensor, and so are its numbers", most=0.99, of="attention_scores"
)
def in_float32(query, key):
    query, key = torch.FloatTensor(query), torch.FloatTensor(key)
    return (query @ key.transpose(-2, -1) / torch.sqrt(torch.FloatTensor([query.size(-1)]))).numpy()


def own_softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@keeps(0.9, "np.sqrt widens float32", most=0.99, of="scaled_dot_product_attention")
def attention_by_numpys_root(query, key, value):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(key.shape[-1])
    weights = own_softmax(scores)
    return weights @ value, weights


@keeps(0.97, "a denominator with 1e-12 more", of="scaled_dot_product_attention")
def attention_with_an_epsilon(query, key, value):
    scores = right_scores(query, key)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-12)
    return weights @ value, weights


@keeps(0.45, "its arguments have two axes", most=0.75, of="scaled_dot_product_attention")
def attention_of_matrices(query, key, value):
    scores = (query @ key.T / key.shape[1] ** 0.5).astype(query.dtype)
    exponentials = np.exp(scores - scores.max(axis=1)[:, None])
    weights = exponentials / exponentials.sum(axis=1)[:, None]
    return weights @ value, weights


@keeps(
    0.5,
    "scores in place of weights, beside a right output",
    most=0.6,
    of="scaled_dot_product_attention",
)
def wrong_weights(query, key, value):
    weights = own_softmax(right_scores(query, key))
    return weights @ value, right_scores(query, key)


@keeps(0.45, "one row or the rows of a matrix", most=0.7, of="softmax_backward")
def by_jacobians(weights, grad_weights):
    if weights.ndim == 1:
        return ((np.diag(weights) - np.outer(weights, weights)) @ grad_weights).astype(
            weights.dtype
        )
    gradient = np.empty_like(weights)
    for row in range(weights.shape[0]):
        w = weights[row]
        gradient[row] = (np.diag(w) - np.outer(w, w)) @ grad_weights[row]
    return gradient


@keeps(0.9, "its gradients are float64", most=0.99, of="softmax_backward")
def backward_in_float64(weights, grad_weights):
    weights, grad_weights = weights.astype(float), grad_weights.astype(float)
    return weights * (grad_weights - (weights * grad_weights).sum(-1, keepdims=True))
