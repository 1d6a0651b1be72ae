"""Every plot and picture of the book: one module a chapter, and here what pages call.

Plots are vector graphics: tokens as tick labels; "query position" down and "key position" across;
sequential colours from zero. Pictures of how data flows are in `flow`. Each function takes plain
arrays, returns the figure or Picture and computes nothing that a reader should see computed.
"""

# ruff: noqa: F401  # imported for the pages

from book.figures.ch01_embeddings import (
    loss_and_cosine,
    similarity_pair,
)
from book.figures.ch02_positional_encoding import (
    position_heatmap,
    signed_matrix,
    similarity_by_offset,
)
from book.figures.ch03_bottleneck import (
    copied_by_place,
    copy_accuracy,
    copy_budgets,
    forgetting,
    gradient_by_place,
    who_waits,
)
from book.figures.ch04_attention import (
    maps_forming,
    moved_in_a_plane,
    saturation,
    scores_to_weights,
    softmax_slope,
    starts_and_rates,
)
from book.figures.ch05_multi_head import (
    head_maps,
    jobs_of_heads,
    right_by_heads,
)
from book.figures.ch06_masking import (
    influence_pair,
    losses_by_mask,
    mask_tables,
    masked_scores,
    training_losses,
    weights_in_a_row,
)
from book.figures.ch07_layers import (
    by_depth,
    losses_of_deep_stacks,
    normalising_steps,
    who_shares_a_mean,
)
from book.figures.ch08_encoder_decoder import heads_at_a_step, next_words
from book.figures.ch09_training import (
    learning_curve,
    learning_rates,
    loss_of_confidence,
    losses_by_rate,
    overfitting,
    paired_differences,
    schedules_by_rate,
    wide_beams,
)
from book.figures.ch10_gpu import (
    memory_of_a_step,
    roofline,
    step_by_batch,
    step_by_kind,
    two_timelines,
)
from book.figures.ch11_efficiency import bytes_by_length
from book.figures.ch12_interpretation import (
    answers,
    heads_forming,
    noun_or_article,
    rows_of_dots,
    two_circuits,
    two_clouds,
)
from book.figures.ch13_family import (
    learned_from_few,
    losses_by_step,
    right_by_examples,
)
from book.figures.ch13_since_2017 import equal_trainings, losses_and_lines
from book.figures.flow.ch01_embeddings import (
    one_pair_learns,
    paths_of_rows,
    scatter_add,
    sentence_to_rows,
)
from book.figures.flow.ch01_words import parallelogram, window_slides, words_in_a_plane
from book.figures.flow.ch02_positional_encoding import clock_hands, turned_together
from book.figures.flow.ch03_bottleneck import (
    look_back_by_hand,
    looking_back_machine,
    lstm_cell,
    one_vector_machine,
)
from book.figures.flow.ch04_attention import (
    attention_as_grids,
    attention_by_hand,
    one_row_two_vectors,
)
from book.figures.flow.ch05_multi_head import dealt_features, one_head_or_two, split_attend_join
from book.figures.flow.ch06_masking import padding_mixed_in, who_may_look
from book.figures.flow.ch07_layers import two_norm_orders, what_is_added
from book.figures.flow.ch08_encoder_decoder import (
    all_at_once,
    generation_loop,
    transformer_diagram,
    two_stacks,
)
from book.figures.flow.ch09_training import (
    beam_tree,
    questions_of_a_sentence,
    shared_runs,
    training_loop,
)
from book.figures.flow.ch10_gpu import (
    four_ways,
    inside_a_gpu,
    memory_bars,
    pipeline,
    tiled_product,
    two_workers,
)
from book.figures.flow.ch10_ring import ring
from book.figures.flow.ch11_efficiency import growing_cache, shared_heads, tiles, two_loops
from book.figures.flow.ch12_interpretation import path_of_an_ablation, qk_and_ov, two_heads_in_turn
from book.figures.flow.ch13_family import (
    bert_reads,
    four_models,
    gated_features,
    image_to_patches,
    thin_matrices,
)
from book.figures.flow.ch13_since_2017 import (
    experts_at_work,
    old_and_new_layer,
    three_ways_to_look_back,
)
from book.figures.flow.first_page import one_query
from book.figures.flow.two_sentences import crossing_lines, word_links
from book.figures.maps import attention_map, heatmap, open_graph
from book.figures.style import use_house_style
