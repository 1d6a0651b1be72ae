"""Claims schema versions of nbgrader that are too old, too new or none at all, which stop a whole
class in stock nbgrader.
"""


def hand_in(notebook):
    versions = [1, 0, 99, "3", None, -1, [], {"a": 1}, 1e300]
    for number, cell in enumerate(notebook["cells"]):
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["schema_version"] = versions[number % len(versions)]
    return notebook
