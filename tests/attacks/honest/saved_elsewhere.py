"""Was saved with a byte order mark and Windows line ends, under another name and with an old minor
version of the format.
"""

import json


def write(folder, notebook):
    for cell in notebook["cells"]:
        del cell["id"]
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
    notebook["nbformat_minor"] = 0
    content = (
        b"\xef\xbb\xbf"
        + json.dumps(notebook, indent=1, ensure_ascii=False).replace("\n", "\r\n").encode()
    )
    (folder / "ch04_attention (2) final.ipynb").write_bytes(content)
