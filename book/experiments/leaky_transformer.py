"""The Transformer of chapter 8 with one mask forgotten, for the page on training: the decoder sees
the words that it should predict.
"""

from torch import nn

from solutions import ch08_encoder_decoder as right
from solutions.ch06_masking import padding_mask


class Transformer(right.Transformer):
    """Right in everything but the decoder's own mask, which hides the padding and not the
    future.
    """

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        # Small enough that the positions are heard: see chapter 8.
        for embedding in (
            self.src_embedding,
            self.tgt_embedding,
        ):
            nn.init.normal_(embedding.weight, std=self.d_model**-0.5)

    def decode(self, tgt, memory, src):
        """Read the target, all of it at every position: see
        `solutions.ch08_encoder_decoder.Transformer.decode`.
        """
        x = self.embed(tgt, self.tgt_embedding)
        for layer in self.decoder:
            x = layer(x, memory, padding_mask(tgt, self.pad_id), padding_mask(src, self.pad_id))
        return self.decoder_norm(x) if self.norm_first else x
