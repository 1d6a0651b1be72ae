"""What a GPU does with the things that chapters 9 to 11 speak of:

    python -m book.experiments.cost.on_a_gpu

Writes `book/measured/gpu.json`, or another file that `--into` names: how it was made (`command`,
`date`, `hardware`, `versions`, `seconds`, `sizes`), and one list or dict for each part, which the
functions of `book.experiments.cost.gpu_parts` describe. It takes about six minutes on an H100, and
needs 25 GB of its memory. Without a GPU it says so, and measures nothing.
"""

import argparse
import datetime
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import torch

from book.experiments.cost import devices, gpu_predictions
from book.experiments.cost.gpu_parts import MEASURED, Budget

FILE = Path(__file__).resolve().parents[2] / "measured" / "gpu.json"


def main(arguments=None):
    """Measure, and write the file after each part, so that nothing is lost where one fails."""
    parser = argparse.ArgumentParser("python -m book.experiments.cost.on_a_gpu")
    parser.add_argument("--into", type=Path, default=FILE, help="a file")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("There is no GPU here, so nothing was measured.", file=sys.stderr)
        return 2
    name, began, budget = torch.cuda.get_device_name(), time.monotonic(), Budget()
    print(f"{name}, PyTorch {torch.__version__}")
    found = {
        "command": "python -m book.experiments.cost.on_a_gpu",
        "date": datetime.date.today().isoformat(),
        "hardware": name,
        "versions": {"torch": torch.__version__},
        "sizes": asdict(budget),
    }
    for part, measure in MEASURED.items():
        numbers = measure(torch.device("cuda"), budget)
        found |= {part: numbers, "seconds": round(time.monotonic() - began, 1)}
        options.into.write_text(written(found), encoding="utf-8")
        print(f"{part}: done after {found['seconds']:.0f} s", flush=True)
    sheet = devices.sheet_of(name)
    if sheet:
        expected = gpu_predictions.predicted(sheet)
        print(gpu_predictions.table(found["claims"], expected, sheet["peak"]["bfloat16"]))
    print(options.into)
    return 0


def written(found):
    """Write what was found as JSON, each row of a list on a line of its own."""
    return "{\n" + ",\n".join(f" {text(k)}: {rows(v)}" for k, v in found.items()) + "\n}\n"


def rows(value):
    if not isinstance(value, list):
        return text(value)
    return "[\n" + ",\n".join(f"  {text(row)}" for row in value) + "\n ]"


def text(value):
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
