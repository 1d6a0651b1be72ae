"""Encoders and decoders as others write them."""

import math

from solutions import ch08_encoder_decoder as reference
from solutions.ch08_encoder_decoder import sinusoidal_positions
from tests.strangers import keeps


@keeps(0.9, "its positions are float32, which is the helper's default", most=0.99)
class Transformer(reference.Transformer):
    def embed(self, token_ids, embedding):
        x = embedding(token_ids) * math.sqrt(self.d_model)
        positions = sinusoidal_positions(token_ids.shape[1], self.d_model, device=x.device)
        return self.dropout(x + positions)


def with_a_table(self, *arguments, **options):
    reference.Transformer.__init__(self, *arguments, **options)
    self.register_buffer("table", sinusoidal_positions(5_000, self.d_model), persistent=False)


def from_a_table(self, token_ids, embedding):
    x = embedding(token_ids) * math.sqrt(self.d_model)
    return self.dropout(x + self.table[: token_ids.shape[1]])


keeps(0.9, "its positions are a buffer of 5,000 float32 rows", most=0.99)(
    type(
        "Transformer",
        (reference.Transformer,),
        {"__init__": with_a_table, "embed": from_a_table},
    )
)
