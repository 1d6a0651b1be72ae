"""Brings pages and configuration beside the notebook, to be opened or read in the place of the
grader's own.
"""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "ch04_attention.html").write_text("<script>alert('feedback')</script>")
    (folder / "nbgrader_config.py").write_text(
        "import os; os.system('touch /tmp/attacks-were-here')"
    )
    (folder / "autograder").mkdir()
    (folder / "autograder" / "__init__.py").write_text(
        "import os; os.system('touch /tmp/attacks-were-here')"
    )
    (folder / "ch04_attention_files" / ("x" * 200)).mkdir(parents=True)
