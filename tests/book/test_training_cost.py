"""What the page of chapter 10 says of a run before it runs is what is measured."""

import itertools
import time

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from book.experiments import measurements
from book.experiments.cost import (
    budgets,
    cuts,
    devices,
    measured_cost,
    memory_in_time,
    step_times,
    training_cost,
)
from book.experiments.cost.gpu_predictions import BASE
from book.experiments.cost.training_cost import Run
from solutions.ch08_encoder_decoder import Transformer
from solutions.ch09_training import label_smoothed_loss
from solutions.ch10_gpu import autocast_loss
from solutions.translator.measure import memory
from solutions.translator.settings import Settings

RUNS = [
    Run(64, 2, 256, 1000, 16, 24),
    Run(64, 3, 256, 200, 8, 32),
    Run(32, 2, 128, 4000, 8, 16),
    Run(256, 1, 1024, 1000, 16, 16),
]


def losses_of(run):
    model = Transformer(
        run.vocab_size, run.vocab_size, run.d_model, 4, run.layers, run.layers, run.d_ff, 0.0
    )
    src, tgt = (torch.randint(4, run.vocab_size, (run.batch, run.seq_len + n)) for n in (0, 1))
    return {
        "float32": lambda: label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:]),
        "bfloat16": lambda: autocast_loss(model, src, tgt),
    }


@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_activations_are_estimated_within_fifteen_percent(run, precision):
    loss = losses_of(run)[precision]
    loss().backward()  # the gradients are there from now on
    peak = memory_in_time.measured_peak(lambda: loss().backward())
    assert training_cost.activation_bytes(run, precision) == pytest.approx(peak, rel=0.15)


@pytest.mark.parametrize("run", RUNS[:2], ids=str)
def test_six_operations_a_parameter_and_word_are_those_that_pytorch_counts(run):
    with FlopCounterMode(display=False) as counter:
        losses_of(run)["float32"]().backward()
    products = 6 * run.words * sum(training_cost.product_parameters(run))
    assert counter.get_total_flops() == products < training_cost.step_flops(run)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", "matrix products"),
        ("autograd::engine::evaluate_function: AddmmBackward0", "matrix products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention, loss, embeddings"),
        ("Optimizer.step#AdamW.step", "optimizer, clipping"),
        ("aten::linalg_vector_norm", "optimizer, clipping"),
        ("aten::mul_", "optimizer, clipping"),
        ("aten::mul", "additions and norms"),
        ("aten::rsqrt", "additions and norms"),
        ("VarMeanBackward0", "additions and norms"),
        ("aten::_log_softmax", "attention, loss, embeddings"),
        ("aten::_to_copy", "copies"),
        ("aten::to", "views and bookkeeping"),
        ("aten::as_strided", "views and bookkeeping"),
    ],
)
def test_a_call_belongs_to_one_kind(name, kind):
    assert measured_cost.kind_of(name) == kind in measured_cost.KINDS


class Clock:
    """A clock whose readings are given: how long each step by it takes."""

    def __init__(self, steps):
        self.now, self.steps = 0.0, iter(steps)

    def __call__(self):
        return self.now

    def work(self):
        self.now += next(self.steps)


def test_one_odd_reading_does_not_move_a_time():
    """A reading of a tenth of the time once made a page's peak twice what the machine could do."""
    clock = Clock([2e-3, 2e-3, 2e-3, 2e-4, 2e-3, 9e-3, 2e-3, 2e-3])
    (seconds,) = measured_cost.seconds_of(clock.work, rounds=5, clock=clock)
    assert seconds == pytest.approx(2e-3)


def test_a_short_call_is_timed_in_long_readings():
    clock = Clock(10_000 * [1e-5])
    (seconds,) = measured_cost.seconds_of(clock.work, rounds=3, least=1e-3, clock=clock)
    assert seconds == pytest.approx(1e-5)
    assert clock.now > 3e-3  # three readings, none of them shorter than asked for


def test_words_times_a_matrix_have_the_intensities_of_the_page():
    found = [round(training_cost.product_intensity(words)) for words in (32, 64 * 32, 10**9)]
    assert found == [28, 228, 256]
    assert training_cost.product_intensity(1, 4096, size=4) == pytest.approx(0.5, rel=1e-3)


def test_memory_is_followed_through_a_step_and_its_phases():
    def step():
        with torch.profiler.record_function("makes"):
            kept = torch.ones(1000)
        with torch.profiler.record_function("drops"):
            del kept

    line, phases = memory_in_time.memory_timeline(step)
    assert max(size for _, size in line) == 4000 and line[-1][1] == 0
    (begin, end), (later, _) = phases["makes"], phases["drops"]
    assert begin < end <= later
    assert begin <= line[0][0] <= end  # seconds: when the memory was taken


@pytest.mark.parametrize("seed", range(3))
def test_float16_loses_gradients_of_activations_that_those_of_parameters_do_not_show(seed):
    torch.manual_seed(seed)
    model = Transformer(400, 400, 64, 4, 2, 2, 256, dropout=0.0)
    src, tgt = torch.randint(4, 400, (2, 32, 24))
    found = measured_cost.gradients_by_kind(
        model, lambda: label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:])
    )
    lost, scaled = (
        {kind: float((scale * sizes).half().eq(0).float().mean()) for kind, sizes in found.items()}
        for scale in (1, 4096)
    )
    for kind in ("queries", "keys", "values"):
        first = f"{kind}, first layers"
        assert lost[first] > 0.2 > 0.01 > lost["parameters"]
        assert scaled[first] < 0.6 * lost[first]


def test_a_step_by_kind_is_all_of_its_calls():
    x = torch.ones(32, 32, requires_grad=True)
    rows, kinds = measured_cost.profiled(lambda: (x @ x + 1).sum().backward(), rounds=2)
    assert list(kinds) == list(measured_cost.KINDS)
    assert sum(kinds.values()) == pytest.approx(sum(row[2] for row in rows))
    calls = {name: count for name, count, _ in rows}
    assert calls["aten::mm"] == 3 and kinds["matrix products"] > 0


def test_calls_are_counted_within_another():
    x = torch.ones(2, 3)

    def step():
        x @ x.mT
        with torch.profiler.record_function("outer, once"):
            (x @ x.mT) @ x

    assert measured_cost.calls_within(step, "aten::mm", "outer") == 2
    assert measured_cost.calls_within(step, "aten::mm", "aten::matmul") == 3
    assert measured_cost.calls_within(step, "aten::mm", "inner") == 0


def test_two_steps_on_a_line_predict_a_third_and_their_utilization_does_not():
    work = [step_times.flops(width) for width in step_times.WIDTHS]
    found = step_times.misses({"seconds": [0.01 + 1e-11 * each for each in work]})
    assert list(found) == [128, 256]
    for line, share in found.values():
        assert abs(line) < 1e-9 and share > 0.3
    proportional = step_times.misses({"seconds": [1e-11 * each for each in work]})
    assert all(abs(each) < 1e-9 for missed in proportional.values() for each in missed)


def test_a_call_that_computes_a_tensor_is_a_launch_and_a_view_is_none():
    x = torch.ones(4, 4, requires_grad=True)
    with measured_cost.Launches() as seen:
        (x.view(2, 8).T.unsqueeze(0) + 1).sum()
    assert seen.count == 2
    weights = torch.ones(4, 4)
    with measured_cost.Launches() as seen:
        (x @ weights).backward(weights)
    assert seen.count == 2  # a product forward, and one for the gradient of x


GPU = measurements.load("gpu")


def test_the_time_of_a_step_is_estimated_as_an_h100_took_it():
    found = budgets.beside_the_measured(GPU)
    assert len(found["recorded"]) == len(found["launched"]) == 23
    for estimated, measured in found["recorded"]:
        assert estimated == pytest.approx(measured, rel=0.25)
    for estimated, measured in found["launched"]:
        assert 1 / 1.7 < estimated / measured < 1.7


def test_the_explorer_s_memory_is_that_of_the_translator_and_was_measured():
    given = budgets.for_the_explorer(GPU)
    place = {sentences: n for n, sentences in enumerate(given["batches"])}
    row = given["widths"].index(512)
    for (how, table), (half, precision), (n, sentences) in itertools.product(
        enumerate(given["activations"]),
        enumerate(("float32", "bfloat16")),
        enumerate(given["batches"]),
    ):
        settings = Settings(precision=precision, tokens=32 * sentences, recorded=how == 1)
        needed = memory.needed(BASE, 37_000, settings, kind="cuda")
        assert given["always"][row] + table[half][row][n] == needed
    peaks = [row for row in given["measured"] if row["peak"] and row["precision"] == "bfloat16"]
    for seen in peaks:
        table = given["activations"][0][1][row]
        estimated = given["always"][row] + table[place[seen["sentences"]]]
        assert estimated == pytest.approx(seen["peak"], rel=0.25 if seen["sentences"] < 32 else 0.1)
    assert len(peaks) == 8


def test_no_product_of_an_h100_beat_its_limits():
    found = devices.products_beside_the_measured(GPU)
    assert len(found) == 3 * 14 and all(1 < factor < 2.5 for *_, factor in found)
    half = [(words, name, factor) for kind, words, name, factor in found if kind == "bfloat16"]
    assert all(name == ("memory" if words <= 256 else "arithmetic") for words, name, _ in half)
    assert max(factor for *_, factor in half) < 1.65


def test_a_product_is_arithmetic_bytes_and_a_launch():
    found = devices.product_limits(32, 512, launch=7e-6)
    moved = 2 * (512**2 + 2 * 32 * 512)
    assert list(found.values()) == pytest.approx([7e-6, moved / 3.35e12, 2 * 32 * 512**2 / 989e12])
    assert devices.product_limits(32, 512, "float32")["memory"] == 2 * found["memory"]


def test_multiprocessors_without_a_tile_wait():
    for words, tiles, waste in (
        (2048, 64, 132 / 64),
        (33 * 128, 132, 1),
        (34 * 128, 136, 264 / 136),
    ):
        least = devices.product_limits(words, 512)["arithmetic"]
        assert devices.product_in_tiles(words, 512) == (tiles, pytest.approx(waste * least))


@pytest.mark.parametrize(("devices", "parts"), [(4, 8), (8, 8), (2, 5), (4, 2), (1, 3)])
def test_a_pipeline_takes_all_parts_through_and_waits_as_its_formula_says(devices, parts):
    for early in (False, True):
        turns = cuts.schedule(devices, parts, early)
        assert len(turns) == 2 * (parts + devices - 1)
        for device, tasks in enumerate(zip(*turns, strict=True)):
            done = [task for task in tasks if task]
            assert len(tasks) - len(done) == 2 * (devices - 1)
            assert sorted(done) == [
                (way, n) for way in ("backward", "forward") for n in range(parts)
            ]
            for way, before, after in (("forward", -1, 0), ("backward", 0, -1)):
                if device:
                    other = [turn[device - 1] for turn in turns]
                    both = (other, tasks)
                    assert all(
                        both[before + 1].index((way, n)) < both[after + 1].index((way, n))
                        for n in range(parts)
                    )
        most = [min(parts, devices - device) if early else parts for device in range(devices)]
        assert cuts.held(turns) == most


def test_phases_end_in_the_median_of_their_rounds():
    spent = iter([0.5, 0.0, 0.004, 0.008])  # the first round warms up

    def step(phase):
        until = time.thread_time() + next(spent)
        with phase("forward"):
            while time.thread_time() < until:
                pass
        with phase("backward"):
            pass

    (ends,) = memory_in_time.ends_of_phases(step, rounds=3)
    assert list(ends) == ["forward", "backward"]
    assert 0.004 <= ends["forward"] <= ends["backward"] < 0.008


def test_a_step_lasts_as_long_in_the_picture_of_its_memory_as_without_a_profiler():
    model = torch.nn.Linear(8, 8)

    def step():
        with torch.profiler.record_function("forward"):
            loss = model(torch.ones(4, 8)).sum()
        with torch.profiler.record_function("backward"):
            loss.backward()

    ends = {"forward": 0.05, "backward": 0.25}
    line, phases, made = memory_in_time.memory_of_training(model, step, ends, rounds=2)
    assert phases["forward"][1] == pytest.approx(0.05)
    assert 0.05 <= phases["backward"][0] < phases["backward"][1] == pytest.approx(0.25)
    assert 0 < line[0][0] < 0.25 and 0 < made[-1][0] < 0.25 and made[-1][1] == 4 * 72
