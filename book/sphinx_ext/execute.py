"""Pages executed side by side, before Sphinx reads them one by one: an extension of Sphinx.

myst-nb executes a page when Sphinx reads it, and Sphinx waits. Here all pages whose results are not
in jupyter-cache yet run first, as many at once as there are cores, so that myst-nb finds their
results in the cache. A page that fails is left to myst-nb, which runs it again and reports why.
"""

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import create_nb_reader
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from sphinx.util.display import status_iterator


def execute(app, env, docnames):
    """Execute the pages that are about to be read, and put their results into the cache."""
    if env.mystnb_config.execution_mode != "cache":
        return
    cache = get_cache(env.mystnb_config.execution_cache_path)
    waiting = {
        name: page
        for name in reversed(docnames)  # later chapters take longer, and are not to begin last
        if (page := page_to_execute(env, cache, name))
    }
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ThreadPoolExecutor(cores) as pool:
        running = {
            pool.submit(
                single_nb_execution,
                page,
                cwd=str(Path(env.doc2path(name)).parent),
                timeout=env.mystnb_config.execution_timeout,
                allow_errors=False,
            ): name
            for name, page in waiting.items()
        }
        finished = status_iterator(
            as_completed(running),
            "executing pages... ",
            length=len(running),
            verbosity=app.verbosity,
            stringify_func=running.get,
        )
        for done in finished:
            if done.exception() or done.result().err:
                continue
            page, seconds = done.result().nb, done.result().time
            # what a kernel sent in pieces; myst-nb would put a line's end between any two
            page, _ = CoalesceStreamsPreprocessor().preprocess(page, {})
            bundle = CacheBundleIn(
                page, env.doc2path(running[done]), data={"execution_seconds": seconds}
            )
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def page_to_execute(env, cache, name):
    """Return a page as a notebook without outputs; None if it holds no code, or if its results are
    in the cache.
    """
    path = env.doc2path(name)
    if not path.endswith(".md"):
        return None  # released notebooks are shown, not run
    text = Path(path).read_text(encoding="utf-8")
    reader = create_nb_reader(path, env.myst_config, env.mystnb_config, text)
    if reader is None:
        return None
    page = reader.read(text)
    try:
        cache.match_cache_notebook(page)
    except KeyError:
        return page
    return None


def setup(app):
    """Register the extension with Sphinx."""
    # two threads beside one busy core can be ten times slower than one; kernels inherit this
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app.connect("env-before-read-docs", execute)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
