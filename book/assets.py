"""What the book serves beside its pages and git does not hold: packages that its scripts use, and the trained translator.

As an extension of Sphinx (`_config.yml` names it) this fills `_build/static` before each build and adds it to the static files.
`python -m book.assets` does the same alone. Without a network a package that is not there yet is left out, and without a trained
translator its model; the page that wants them then says so.
"""

import base64
import hashlib
import io
import shutil
import sys
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "_build" / "static"
TRAINED = ROOT / "_build" / "translator"  # where `make demo` trains
MODEL = "translator-model"
SECONDS = 60  # for a package to come


@dataclass(frozen=True)
class Package:
    """Files of a package on npm.

    Args:
        name, version: as npm knows it.
        sha512: of its archive, in base 64, as npm's registry gives it.
        licence: its SPDX name.
        files: paths in the archive, below `package/`.
    """

    name: str
    version: str
    sha512: str
    licence: str
    files: tuple[str, ...]

    @property
    def url(self):
        """Return where the archive is."""
        return f"https://registry.npmjs.org/{self.name}/-/{self.name.split('/')[-1]}-{self.version}.tgz"


PACKAGES = {  # folder below `vendor/` -> what it holds
    "onnxruntime": Package(
        "onnxruntime-web",
        "1.30.0",
        "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==",
        "MIT",
        ("dist/ort.wasm.min.mjs", "dist/ort-wasm-simd-threaded.mjs", "dist/ort-wasm-simd-threaded.wasm"),
    ),
}


def prepare(static=STATIC, trained=TRAINED, packages=PACKAGES):
    """Fill a folder with all that can be had; return sentences about what cannot.

    Args:
        static: the folder.
        trained: a finished run of the translator.
        packages: see `PACKAGES`.
    """
    static.mkdir(parents=True, exist_ok=True)
    missing = []
    for folder, package in packages.items():
        try:
            fetch(package, static / "vendor" / folder)
        except OSError as error:
            missing.append(f"{package.name} {package.version} could not be fetched ({error})")
    model = static / MODEL
    weights = trained / "model.safetensors"
    if not weights.exists():
        missing.append("there is no trained translator; `make demo` trains one")
    elif not model.exists() or model.stat().st_mtime < weights.stat().st_mtime:
        export_model(trained, model)
    return missing


def fetch(package, folder):
    """Put a package's files into a folder, unless they are there.

    Raises:
        OSError: if the archive cannot be fetched.
        ValueError: if it is not the one that was pinned.
    """
    note = folder / "VERSION"
    told = f"{package.name} {package.version}, {package.licence}\n{package.url}\n"
    if note.exists() and note.read_text() == told:
        return
    with urllib.request.urlopen(package.url, timeout=SECONDS) as answer:
        content = answer.read()
    if base64.b64encode(hashlib.sha512(content).digest()).decode() != package.sha512:
        raise ValueError(f"{package.url} is not what was pinned: its SHA-512 is another; is the version right?")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for path in package.files:
            (folder / Path(path).name).write_bytes(archive.extractfile(f"package/{path}").read())
    note.write_text(told)


def export_model(trained, folder):
    """Write the trained translator's files for a browser into a folder, all of them or none."""
    from solutions.translator.browser import export
    from solutions.translator.runs import FinishedRun

    unfinished = folder.with_name(f".{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    export(FinishedRun(trained, "cpu"), unfinished)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def setup(app):
    """Be an extension of Sphinx."""
    app.connect("config-inited", add_static_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_static_files(app, config):
    """Prepare the folder, and have it copied with the other static files."""
    for sentence in prepare():
        print(f"book: {sentence}")
    config.html_static_path.append(str(STATIC))


if __name__ == "__main__":
    for line in prepare():
        print(line, file=sys.stderr)
