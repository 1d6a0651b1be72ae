"""Write a file so that, whenever this is interrupted, the whole of it is there or what was there
before.
"""

import os


def write_whole(path, text):
    """Write a text file in one step; return its path. Folders on the way to it are made.

    After a loss of power a file system may still show an empty file: who reads it must take that
    for none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return path
