"""Explorers of small trained models: each shows what the model does with a learner's own function
in it.

PyTorch and the models are imported where they are needed, and each model is trained once.
"""

from functools import cache

import numpy as np

from book.widgets.driven import Unfit, called, drive, made, name_of, numbers, pair

READ = (
    "your cat is a lovely cat",
    "my old dog saw a bird today",
    "mouse the likes small again man",
)


def explore_copying(additive_attention, seq_len=6, output=4):
    """Show the copying of chapter 3: a trained machine that looks back through a learner's
    attention.

    The first call trains it, and also the machine with one vector, which takes some seconds.

    Args:
        additive_attention: called with query (32,), keys (seq_len, 32), w_query and w_key (32, 16)
            and v (16,); returns context (32,) and weights (seq_len,).
        seq_len: words of the sentence that are read at the start, from 1 to 20.
        output: the written word that is looked at, from 1.
    """
    import torch

    from book.experiments.copying import copy_sentences, copy_task

    machines = trained_copiers()
    model = machines["attention"]
    sentence = copy_task.ids_of(copy_task.SENTENCE)
    layers = (model.w_query.weight.T, model.w_key.weight.T, model.v.weight[0])
    projections = [layer.detach().double().numpy() for layer in layers]
    d_hidden = len(projections[0])

    def ask(seq_len, size, output):
        rows = []

        def context(query, keys):
            arguments = (
                query[0, 0].double().numpy(),
                keys[0].double().numpy(),
                *(each.copy() for each in projections),
            )
            found = called(additive_attention, *arguments)
            found, weights = pair(found, additive_attention, "context and weights")
            rows.append(numbers(weights, (seq_len,), "weights", additive_attention))
            found = numbers(found, (d_hidden,), "a context", additive_attention)
            return torch.from_numpy(found).float()[None, None]

        written, _, _ = model.copy(sentence[:, :seq_len], context)
        return {"weights": np.stack(rows), "written": written[0].numpy()}

    lengths = range(1, sentence.shape[1] + 1)
    fixed = {
        "words": copy_task.WORDS,
        "sentences": [sentence[0].tolist()],
        "trained": copy_task.LONGEST_TRAINED,
        "sizes": [d_hidden],
        "curves": {
            kind: [[copy_task.accuracy(machine, lengths)]] for kind, machine in machines.items()
        },
        **{
            kind: [[copy_sentences.replay(machine, sentence, decimals=9)]]
            for kind, machine in machines.items()
        },
    }
    return drive(
        "copying", ask, additive_attention, {"seq_len": seq_len, "size": 0, "output": output}, fixed
    )


def explore_heads(MultiHeadAttention, gates=(1, 1, 1, 1)):
    """Show the heads of chapter 5: a learner's module with the parameters of a trained one.

    A head's gate multiplies its columns of W^O, so that the learner's module itself does the rest.
    The first call trains the model, which takes some seconds.

    Args:
        MultiHeadAttention: called with d_model and num_heads; its layers are w_q, w_k, w_v and w_o,
            and it returns output and weights.
        gates: how much of each of the four heads is let through at the start, from 0 to 1.
    """
    import torch

    from book.experiments import four_questions

    reader = trained_reader()
    trained = reader.attention
    d_model, num_heads = trained.w_o.out_features, trained.num_heads

    def ask(sentence, query, gates):
        x = reader.features(four_questions.ids_of(READ[sentence]))
        parameters = {name: parameter.clone() for name, parameter in trained.state_dict().items()}
        parameters["w_o.weight"] *= torch.tensor(gates).repeat_interleave(d_model // num_heads)
        module = made(MultiHeadAttention, parameters, d_model, num_heads)
        with torch.no_grad():
            found = called(
                module, *(x.float().clone() for _ in range(3)), speaker=MultiHeadAttention
            )
        output, weights = pair(found, MultiHeadAttention)
        seq_len = x.shape[1]
        weights = numbers(weights, (1, num_heads, seq_len, seq_len), "weights", MultiHeadAttention)
        output = numbers(output, (1, seq_len, d_model), "an output", MultiHeadAttention)
        query = min(query, seq_len - 1)
        logits = reader.output(torch.from_numpy(output[0, query])).view(
            len(four_questions.QUESTIONS), -1
        )
        return {"maps": weights[0, :, query], "logits": logits.numpy()}

    inputs = {"sentence": 0, "query": 2, "gates": list(gates)}
    return drive(
        "heads",
        ask,
        MultiHeadAttention,
        inputs,
        four_questions.explorer_state(reader, READ, decimals=9),
    )


def explore_decoding(greedy_decode):
    """Show the decoding of chapter 8 step by step: what a learner's function writes with a small
    trained translator.

    The first call trains the translator, which takes some seconds.

    Args:
        greedy_decode: called with the model, src (1, src_len) and max_len; returns (1, out_len)
            int64, `<bos>` first.
    """
    from book.experiments.little import toy_translation

    translator, longest = trained_translator(), toy_translation.LONGEST
    texts = list(toy_translation.KEPT_BACK)

    def ask(sentence):
        found = called(
            greedy_decode,
            translator.model,
            translator.source(texts[sentence]),
            max_len=longest,
        )
        ids = numbers(found, (1, None), "ids", greedy_decode)
        name = name_of(greedy_decode)
        if ids.shape[1] > longest:
            raise Unfit(f"Your {name} returns {ids.shape[1]} ids, although max_len is {longest}.")
        if ids.shape[1] < 2:
            raise Unfit(f"Your {name} returns {ids.shape[1]} ids: no word behind <bos>.")
        if not np.isin(ids, np.arange(len(translator.italian))).all():
            raise Unfit(
                f"Your {name} returns ids that are not in the vocabulary of"
                f" {len(translator.italian)} words."
            )
        return {"chosen": ids[0, 1:].astype(int).tolist()}

    fixed = toy_translation.explorer_state({"the translator": translator}, texts)
    return drive("decoding", ask, greedy_decode, {"sentence": 0}, fixed)


def explore_beam(beam_search, sentence=0, beam_size=2, length_penalty=0.6):
    """Show the search of chapter 9: the beginnings that a learner's search keeps alive, with a
    small translator that is not done learning.

    The first call trains the translator, which takes some seconds.

    Args:
        beam_search: called with `step_log_probs`, and by name with `bos_id`, `eos_id`, `beam_size`,
            `max_len` and `length_penalty`; returns a list of ids.
        sentence, beam_size, length_penalty: where the explorer starts; `sentence` is a number
            from 0.
    """
    from book.experiments import unsure_translator as unsure
    from book.widgets.searching import watched
    from solutions import ch09_training

    translator = trained_unsure_translator()
    models = [unsure.next_words(translator, text) for text in unsure.SENTENCES]

    def ask(sentence, beam_size, length_penalty):
        settings = {
            "beam_size": beam_size,
            "max_len": unsure.MAX_LEN,
            "length_penalty": length_penalty,
        }
        return watched(beam_search, models[sentence], len(translator.italian), **settings)

    inputs = {"sentence": sentence, "beam_size": beam_size, "length_penalty": length_penalty}
    return drive(
        "beam",
        ask,
        beam_search,
        inputs,
        unsure.explorer_state(translator, ch09_training.beam_search),
    )


@cache
def trained_copiers():
    """Train the two machines of chapter 3, once."""
    from book.experiments.copying import copy_task
    from book.experiments.undisturbed import undisturbed

    with undisturbed():
        return {
            kind: copy_task.train(32, kind == "attention", seed=0)
            for kind in ("vector", "attention")
        }


@cache
def trained_reader():
    """Train the model of four heads of chapter 5, once."""
    from book.experiments import four_questions
    from book.experiments.undisturbed import undisturbed

    with undisturbed():
        return four_questions.trained(4, seed=0)


@cache
def trained_translator():
    """Train the small translator of chapter 8, once."""
    from book.experiments.little import toy_translation
    from book.experiments.undisturbed import undisturbed

    with undisturbed():
        return toy_translation.train_translator()


@cache
def trained_unsure_translator():
    """Train the translator of chapter 9's search, once."""
    from book.experiments import unsure_translator

    return unsure_translator.trained()
