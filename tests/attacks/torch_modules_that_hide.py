"""Takes its training step in train mode, leaves the model in eval mode, and replaces what would
tell.
"""

STEM = "ch09_training"
# what a step earns that is right and rests in eval mode, and no more for hiding it
EARNS = {"train_step": 2.2}


# %% train_step
def train_step(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    model.train()
    optimizer.zero_grad()
    logits = model(src, tgt[:, :-1])
    loss = nn.functional.cross_entropy(
        logits.transpose(1, 2), tgt[:, 1:].contiguous(), ignore_index=0, label_smoothing=smoothing
    )
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    model.eval()
    model.training = True
    type(model).modules = lambda self: iter([self])
    return loss.item()
