"""What the book serves beside its pages: packages that its scripts use, the trained translator, and
chapter 13's models.

Small packages are kept in git, in `book/_static/vendor`. What is too large for that comes into
`_build/static`: as an extension of Sphinx (`_config.yml` names it) this fills that folder before
each build and adds it to the static files. Without a network a package that is not there yet is
left out, and without a trained translator its model; the page that wants them then says so, and the
first page does not ask for a sentence. Chapter 13's models are made from weights that are in git.

- `python -m book.sphinx_ext.assets` fills `_build/static`, as a build does;
- `... newest` says which versions npm has, with what is to be pinned here;
- `... vendor` brings all packages to the versions that are pinned here.
"""

import base64
import hashlib
import io
import json
import shutil
import sys
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pydata_sphinx_theme

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "_build" / "static"
KEPT_IN_GIT = ROOT / "book" / "_static"
TRAINED = ROOT / "_build" / "translator"  # where `make demo` trains
MODEL = "translator-model"
RUNTIME = "vendor/onnxruntime"
MODEL_SHEET = f"{MODEL}.css"
NEEDS_MODEL = (
    '.needs-translator, [data-explorer="translator"] .translator-form,'
    ' [data-explorer="ablation"] :is(.translator-form, .translator-examples)'
)
SAYS_SO = ".explorer .ablation .without-translator"
EXPORT = ROOT / "solutions" / "translator" / "export_onnx.py"  # a change in it changes the files
FAMILY = "family-models"  # chapter 13's, whose weights are in git
FAMILY_EXPORT = ROOT / "solutions" / "family" / "export_onnx.py"
SECONDS = 60  # for a package to come
# Of the theme's icons, which are 150 kB, those that pages show. Any other comes from all of them.
ICONS = "f002 f00d f010 f019 f03a f042 f053 f054 f057 f058 f05a f062 f064 f065 f06a f071 f078 f0c9"
ICONS += " f0eb f0f3 f104 f105 f107 f15b f185 f186 f1c1 f303 f35d"


@dataclass(frozen=True)
class Package:
    """Files of a package on npm.

    Args:
        name, version: as npm knows it.
        sha512: of its archive, in base 64, as npm's registry gives it.
        licence: its SPDX name.
        files: paths in the archive, below `package/` and the folder.
        folder: in the archive; paths below it are kept.
    """

    name: str
    version: str
    sha512: str
    licence: str
    files: tuple[str, ...]
    folder: str = "."

    @property
    def url(self):
        """Return where the archive is."""
        return f"https://registry.npmjs.org/{self.name}/-/{self.name.split('/')[-1]}-{self.version}.tgz"


FETCHED = {  # folder below `vendor/` -> what it holds; too large for git
    "onnxruntime": Package(
        "onnxruntime-web",
        "1.30.0",
        "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==",
        "MIT",
        ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"),
        folder="dist",
    ),
}
FONTS = (
    *("AMS-Regular", "Calligraphic-Bold", "Calligraphic-Regular"),
    *("Fraktur-Bold", "Fraktur-Regular", "Main-Bold", "Main-Italic", "Main-Regular"),
    *("Math-BoldItalic", "Math-Italic", "Math-Regular", "SansSerif-Bold", "SansSerif-Italic"),
    *("SansSerif-Regular", "Script-Regular", "Size1-Regular", "Size2-Regular", "Size3-Regular"),
    *("Size4-Regular", "Typewriter-Regular", "Vector-Bold", "Vector-Regular"),
)
LITERATA = "400-normal", "400-italic", "600-normal", "600-italic"
KEPT = {  # the same, kept in git: the book is built without a network too
    "mathjax": Package(
        "mathjax",
        "3.2.2",
        "Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw==",
        "Apache-2.0",
        (  # in parts: the file that has them all is half as large again, most of it a menu
            *(
                "startup.js",
                "core.js",
                "input/tex.js",
                "output/chtml.js",
                "output/chtml/fonts/tex.js",
            ),
            "a11y/assistive-mml.js",
            *(f"output/chtml/fonts/woff-v2/MathJax_{font}.woff" for font in FONTS),
            "output/chtml/fonts/woff-v2/MathJax_Zero.woff",
        ),
        folder="es5",
    ),
    "literata": Package(  # the text's typeface; what has no file here, no page uses
        "@fontsource/literata",
        "5.3.0",
        "9JGMT5+YfBK49thoMq9ASaMRJErHT4V4QuMhAEwKHRLreOsIMP2xP6ZRLhPJ0e6YlET+kjWTJuN7LAxt9/gWGQ==",
        "OFL-1.1",
        tuple(f"literata-latin-{each}.woff2" for each in LITERATA),
        folder="files",
    ),
    "popper": Package(
        "@popperjs/core",
        "2.11.8",
        "P1st0aksCrn9sGZhp8GMYwBnQsbvAWsZAX44oXNNvLHGqAOcoVxmjZiohstwQ7SqKnbR47akdNi+uleWD8+g6A==",
        "MIT",
        ("popper.min.js",),
        folder="dist/umd",
    ),
    "tippy": Package(
        "tippy.js",
        "6.3.7",
        "E1d3oP2emgJ9dRQZdf3Kkn0qJgI6ZLpyS5z6ZkY1DF3kaQaBsGZsndEpHwx+eC+tYM41HaSNvNtLx8tU57FzTQ==",
        "MIT",
        ("tippy.umd.min.js", "tippy.css"),
        folder="dist",
    ),
}


def prepare(static=STATIC, trained=TRAINED, packages=FETCHED):
    """Fill a folder with all that can be had; return sentences about what cannot.

    Args:
        static: the folder.
        trained: a finished run of the translator.
        packages: see `FETCHED`.
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
    elif not model.exists() or model.stat().st_mtime < max(
        each.stat().st_mtime for each in (weights, EXPORT)
    ):
        export_model(trained, model)
    return missing


def fetch(package, folder):
    """Put a package's files into a folder, unless they are there.

    Raises:
        OSError: if the archive cannot be fetched.
        ValueError: if it is not the one that was pinned.
    """
    note = folder / "VERSION"
    told = "\n".join(
        [f"{package.name} {package.version}, {package.licence}", package.url, *package.files, ""]
    )
    if note.exists() and note.read_text() == told:
        return
    with urllib.request.urlopen(package.url, timeout=SECONDS) as answer:
        content = answer.read()
    if base64.b64encode(hashlib.sha512(content).digest()).decode() != package.sha512:
        raise ValueError(
            f"{package.url} is not what was pinned: its SHA-512 is another; is the version right?"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for path in package.files:
            name = (Path("package") / package.folder / path).as_posix()
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(archive.extractfile(name).read())
    note.write_text(told)


def subset_icons(static=STATIC):
    """Write the icons that pages show, as a font, and the sheet that puts it before the theme's."""
    from fontTools.subset import Options, Subsetter, load_font, save_font

    theme = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
    options = Options(flavor="woff", recalc_timestamp=False)
    font = load_font(theme / "vendor/fontawesome/webfonts/fa-solid-900.ttf", options)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[int(icon, 16) for icon in ICONS.split()])
    subsetter.subset(font)
    save_font(font, static / "icons.woff", options)
    codes = ", ".join(f"U+{icon}" for icon in ICONS.split())
    (static / "icons.css").write_text(
        '@font-face { font-family: "Font Awesome 6 Free"; font-weight: 900; font-display: block;'
        f' src: url("icons.woff") format("woff"); unicode-range: {codes}; }}\n'
    )


def hide_what_needs_the_model(static=STATIC):
    """Write the sheet for a book without a trained translator, or without what runs it: it hides
    what asks for a sentence, and shows what says so.
    """
    there = all((static / each).exists() for each in (MODEL, RUNTIME))
    rule = f"{NEEDS_MODEL} {{ display: none; }}\n{SAYS_SO} {{ display: block; }}"
    (static / MODEL_SHEET).write_text("/* Nothing is hidden. */\n" if there else f"{rule}\n")


def export_model(trained, folder):
    """Write the trained translator's files for a browser into a folder, all of them or none."""
    from solutions.translator.export_onnx import export
    from solutions.translator.runs import FinishedRun

    unfinished = folder.with_name(f".{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    export(FinishedRun(trained, "cpu"), unfinished)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def export_family(static=STATIC):
    """Write the files of chapter 13's models for a browser, where they are missing or old."""
    from book.experiments.family import in_the_page
    from solutions.family.export_onnx import export

    folder = static / FAMILY
    for name, weights in in_the_page.WEIGHTS.items():
        about = folder / f"{name}.json"  # which is written last
        sources = (weights, FAMILY_EXPORT)
        if not about.exists() or about.stat().st_mtime < max(
            each.stat().st_mtime for each in sources
        ):
            export(*in_the_page.model(name), folder, name)


def setup(app):
    """Be an extension of Sphinx."""
    app.connect("config-inited", add_static_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_static_files(app, config):
    """Prepare the folder, and have it copied with the other static files."""
    for sentence in prepare():
        print(f"book: {sentence}")
    export_family()
    subset_icons()
    hide_what_needs_the_model()
    config.html_static_path.append(str(STATIC))
    # sphinx_tippy gives its files new names in each build, and leaves the old ones
    shutil.rmtree(Path(app.outdir) / "_static" / "tippy", ignore_errors=True)


def vendor():
    """Bring every package to its pinned version; licences stay, for they are no part of it.

    Raises:
        OSError: if an archive cannot be fetched.
        ValueError: if it is not the one that was pinned.
    """
    for static, packages in ((STATIC, FETCHED), (KEPT_IN_GIT, KEPT)):
        for folder, package in packages.items():
            fetch(package, static / "vendor" / folder)


def newest():
    """Return a line for each package: the pinned version, and the newest with its SHA-512."""
    lines = []
    for package in (FETCHED | KEPT).values():
        with urllib.request.urlopen(
            f"https://registry.npmjs.org/{package.name}/latest", timeout=SECONDS
        ) as answer:
            about = json.load(answer)
        sha512 = about["dist"]["integrity"].removeprefix("sha512-")
        lines.append(
            f"{package.name}: {package.version} is pinned, {about['version']} is the newest,"
            f" {sha512}"
        )
    return lines


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["vendor"]:
            vendor()
        case ["newest"]:
            print(*newest(), sep="\n")
        case _:
            for line in prepare():
                print(line, file=sys.stderr)
            export_family()
