"""Answers with whole numbers that no floating number can hold, where a message is to say how far
they are from the right ones.
"""

STEM = "ch09_training"


# %% noam_rate
def noam_rate(step, d_model, warmup_steps):
    return 10**400


# %% beam_search
def beam_search(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    return [10**400] * 3
