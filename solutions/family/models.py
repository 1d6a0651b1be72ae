"""BERT and ViT on the blocks of chapters 5 to 7, in the layouts that their authors published."""

import torch
from torch import nn

from solutions.ch06_masking import padding_mask
from solutions.ch07_layers import EncoderLayer, LayerNorm
from solutions.ch13_family import patchify


class Bert(nn.Module):
    """BERT's encoder: every word sees every other one, and layers normalise their sums.

    Args:
        vocab_size: number of ids.
        max_len: length of the longest sequence.
        d_model, num_heads, num_layers, d_ff, dropout: as in an `EncoderLayer`.
        num_types: how many kinds of words there are; BERT tells a first sentence from a second.

    Source: Devlin et al. 2019, section 3.
    """

    def __init__(
        self, vocab_size, max_len, d_model, num_heads, num_layers, d_ff, dropout=0.0, num_types=2
    ):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.type_embedding = nn.Embedding(num_types, d_model)
        self.embedding_norm = LayerNorm(d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.dropout = nn.Dropout(dropout)
        for embedding in self.token_embedding, self.position_embedding, self.type_embedding:
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, token_ids, types=None, pad_id=0):
        """Read sentences.

        Args:
            token_ids: (batch, seq_len) int64.
            types: (batch, seq_len) int64, the kind of each word; None for all 0.
            pad_id: the id of padding, which no position attends to.

        Returns:
            (batch, seq_len, d_model), a vector for each word in its sentence.
        """
        if types is None:
            types = torch.zeros_like(token_ids)
        positions = torch.arange(token_ids.shape[1], device=token_ids.device)
        x = self.token_embedding(token_ids) + self.position_embedding(positions)
        x = self.dropout(self.embedding_norm(x + self.type_embedding(types)))
        mask = padding_mask(token_ids, pad_id)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class VisionTransformer(nn.Module):
    """ViT: an image is a sentence of patches, and a learned first row reads it.

    Args:
        image_size: height and width, in pixels.
        patch_size: side of a patch; divides `image_size`.
        channels: colours of a pixel.
        num_classes: what there is to tell apart.
        d_model, num_heads, num_layers, d_ff, dropout: as in an `EncoderLayer`.

    Source: Dosovitskiy et al. 2021, section 3.1.
    """

    def __init__(
        self, image_size, patch_size, channels, num_classes,
        d_model, num_heads, num_layers, d_ff, dropout=0.0,
    ):  # fmt: skip
        super().__init__()
        self.patch_size = patch_size
        patches = (image_size // patch_size) ** 2
        self.patch_embedding = nn.Linear(channels * patch_size**2, d_model)
        self.class_row = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + patches, d_model))
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout, norm_first=True)
            for _ in range(num_layers)
        )
        self.final_norm = LayerNorm(d_model)
        self.head = nn.Linear(d_model, num_classes)
        self.dropout = nn.Dropout(dropout)

    def encode(self, images):
        """Read images.

        Args:
            images: (batch, channels, image_size, image_size).

        Returns:
            (batch, 1 + patches, d_model): the first row has read the whole image.
        """
        patches = self.patch_embedding(patchify(images, self.patch_size))
        first = self.class_row.expand(len(images), -1, -1)
        x = self.dropout(torch.cat([first, patches], dim=1) + self.positions)
        for layer in self.layers:
            x = layer(x)
        return self.final_norm(x)

    def forward(self, images):
        """Score each class.

        Args:
            images: (batch, channels, image_size, image_size).

        Returns:
            (batch, num_classes) logits.
        """
        return self.head(self.encode(images)[:, 0])
