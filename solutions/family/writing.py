"""What a loaded model is for: GPT-2 continues a text, Marian translates a sentence."""

import torch

from solutions.family.checkpoint import LoadingError
from solutions.family.loading import id_of

NOWHERE = -1  # a pad_id that no word has, for a model that knows no padding


def require(loaded, kind, what):
    """Stop where a model is not of the kind that a command is for."""
    if loaded.kind != kind:
        raise LoadingError(f"this is a model of the type {loaded.kind}, which cannot {what}")


def write(loaded, ids, words, temperature=1.0, top_k=None, top_p=None, seed=None):
    """Let GPT-2 continue a text.

    Args:
        loaded: Loaded.
        ids: list of int, how the text begins; not empty.
        words: how many ids to add at most.
        temperature, top_k, top_p: see `next_word_distribution`.
        seed: of what is drawn; None for another text each time.

    Returns:
        list of int, the new ids alone; it ends before the id that ends a text.

    Raises:
        LoadingError: for another kind of model, or an empty text.
    """
    require(loaded, "gpt2", "continue a text")
    end, longest = loaded.config.get("eos_token_id"), loaded.config["n_positions"]
    generator = torch.Generator()
    generator.seed() if seed is None else generator.manual_seed(seed)
    if not ids:
        raise LoadingError("an empty text has no token from which GPT-2 could go on")
    written = list(ids)
    with torch.inference_mode():
        for _ in range(words):
            seen = torch.tensor([written[-longest:]])
            logits = loaded.model(seen, pad_id=NOWHERE)[:, -1]
            chances = loaded.blocks.next_word_distribution(logits, temperature, top_k, top_p)
            word = torch.multinomial(chances, 1, generator=generator).item()
            if word == end:
                break
            written.append(word)
    return written[len(ids) :]


def translate(loaded, ids, beam=1, longest=128):
    """Let Marian translate a sentence.

    Args:
        loaded: Loaded.
        ids: list of int, with the one that ends the source.
        beam: hypotheses of `beam_search`; 1 is `greedy_decode`.
        longest: the most ids of a translation, the first one counted.

    Returns:
        list of int, without those that begin and end the translation.
    """
    require(loaded, "marian", "translate")
    model, src = loaded.model, torch.tensor([ids])
    start, end = (id_of(loaded.config, f"{name}_token_id") for name in ("decoder_start", "eos"))
    with torch.inference_mode():
        if beam == 1:
            written = loaded.blocks.greedy_decode(model, src, longest, start, end)[0, 1:].tolist()
            return written[: written.index(end)] if end in written else written
        memory = model.encode(src)

        def step_log_probs(prefixes):
            count = len(prefixes)
            hidden = model.decode(prefixes, memory.expand(count, -1, -1), src.expand(count, -1))
            return torch.log_softmax(model.generator(hidden[:, -1]), dim=-1)

        return loaded.blocks.beam_search(step_log_probs, start, end, beam, longest)
