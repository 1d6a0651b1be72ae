"""What the book serves beside its pages: the pinned archive or nothing, once; and a sentence about
what is missing.
"""

import base64
import hashlib
import io
import os
import tarfile
import urllib.error

import pytest
from fontTools.ttLib import TTFont

from book.experiments.family import in_the_page
from book.sphinx_ext import assets
from solutions.ch13_family import LanguageModel


@pytest.fixture
def archive():
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as file:
        for name in ("package/dist/one.mjs", "package/dist/two.wasm"):
            about = tarfile.TarInfo(name)
            about.size = len(name)
            file.addfile(about, io.BytesIO(name.encode()))
    return content.getvalue()


def package(archive, **changes):
    sha512 = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    pinned = {
        "name": "@some/thing",
        "version": "1.2.3",
        "sha512": sha512,
        "licence": "MIT",
        "files": ("two.wasm",),
        "folder": "dist",
    }
    return assets.Package(**{**pinned, **changes})


@pytest.fixture
def asked(archive, monkeypatch):
    """Answer every request with the archive; note the addresses."""
    urls = []

    def answer(url, timeout):
        urls.append(url)
        return io.BytesIO(archive)

    monkeypatch.setattr(assets.urllib.request, "urlopen", answer)
    return urls


def test_a_package_is_fetched_once_and_again_for_another_version(tmp_path, archive, asked):
    folder = tmp_path / "thing"
    for version in ("1.2.3", "1.2.3", "1.2.4"):
        assets.fetch(package(archive, version=version), folder)
    assert asked == [
        f"https://registry.npmjs.org/@some/thing/-/thing-1.2.{number}.tgz" for number in (3, 4)
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["VERSION", "two.wasm"]
    assert (folder / "two.wasm").read_text() == "package/dist/two.wasm"
    assert "1.2.4, MIT" in (folder / "VERSION").read_text()


def test_another_archive_than_the_pinned_one_is_refused(tmp_path, archive, asked):
    with pytest.raises(ValueError, match="not what was pinned"):
        assets.fetch(package(archive, sha512="AAAA"), tmp_path / "thing")
    assert not (tmp_path / "thing").exists()


def test_what_cannot_be_had_is_left_out_and_said(tmp_path, archive, monkeypatch):
    def no_network(url, timeout):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(assets.urllib.request, "urlopen", no_network)
    missing = assets.prepare(tmp_path / "static", tmp_path / "nowhere", {"thing": package(archive)})
    assert len(missing) == 2
    assert "@some/thing 1.2.3 could not be fetched" in missing[0]
    assert "`make demo` trains one" in missing[1]
    assert list((tmp_path / "static").iterdir()) == []


def test_more_files_of_the_same_version_are_fetched_and_keep_their_folders(
    tmp_path, archive, asked
):
    folder = tmp_path / "thing"
    assets.fetch(package(archive), folder)
    assets.fetch(package(archive, files=("dist/one.mjs", "dist/two.wasm"), folder="."), folder)
    assert len(asked) == 2
    assert (folder / "dist" / "one.mjs").exists()
    assert not (folder / "two.wasm").exists()


def test_what_git_keeps_is_what_is_pinned():
    for name, package in assets.KEPT.items():
        folder = assets.KEPT_IN_GIT / "vendor" / name
        assert f"{package.name} {package.version}" in (folder / "VERSION").read_text()
        assert {
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
        } == {
            "VERSION",
            *package.files,
        }


@pytest.mark.parametrize("name", [*assets.FETCHED, *assets.KEPT])
def test_every_package_comes_with_its_licence(name):
    licence = (assets.KEPT_IN_GIT / "vendor" / "licences" / f"{name}.txt").read_text()
    assert any(
        each in licence
        for each in ("Permission is hereby granted", "Apache License", "SIL Open Font License")
    )


def test_the_newest_versions_are_told_with_what_is_to_be_pinned(monkeypatch):
    told = b'{"version": "99.0.0", "dist": {"integrity": "sha512-abc="}}'
    monkeypatch.setattr(assets.urllib.request, "urlopen", lambda url, timeout: io.BytesIO(told))
    lines = assets.newest()
    assert len(lines) == len(assets.FETCHED) + len(assets.KEPT)
    assert all("99.0.0 is the newest, abc=" in line for line in lines)


def test_the_translator_is_exported_again_where_its_weights_or_its_exporter_changed(
    tmp_path, monkeypatch
):
    exported = []
    monkeypatch.setattr(assets, "export_model", lambda trained, folder: exported.append(folder))
    monkeypatch.setattr(assets, "EXPORT", tmp_path / "export_onnx.py")
    static, trained = tmp_path / "static", tmp_path / "trained"
    folder, weights = static / assets.MODEL, trained / "model.safetensors"
    trained.mkdir()
    for path in (weights, assets.EXPORT):
        path.touch()
    assert assets.prepare(static, trained, {}) == []
    assert exported == [folder]
    folder.mkdir()
    for changed in (None, weights, assets.EXPORT):
        exported.clear()
        for path, second in ((weights, 1), (assets.EXPORT, 2), (folder, 3)):
            os.utime(path, (second, second))
        if changed:
            os.utime(changed, (4, 4))
        assert assets.prepare(static, trained, {}) == []
        assert exported == [folder] * (changed is not None)


def test_a_book_asks_for_a_sentence_where_it_has_the_model_and_what_runs_it(tmp_path):
    hidden = []
    for folder in ("", assets.MODEL, assets.RUNTIME):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        assets.hide_what_needs_the_model(tmp_path)
        hidden.append("display: none" in (tmp_path / assets.MODEL_SHEET).read_text())
    assert hidden == [True, True, False]


def test_models_whose_weights_are_in_git_are_exported_once_and_again_when_they_change(
    tmp_path, monkeypatch
):
    weights = tmp_path / "tiny.safetensors"
    weights.touch()
    model = LanguageModel(5, 8, 4, 2, 1, 8)
    monkeypatch.setattr(in_the_page, "WEIGHTS", {"tiny": weights})
    monkeypatch.setattr(in_the_page, "model", lambda name: (model, list("abcde"), -1))
    files = [tmp_path / assets.FAMILY / f"tiny.{kind}" for kind in ("onnx", "json")]
    made = []
    for newer in (0, 0, 60):
        if newer:
            os.utime(weights, (files[1].stat().st_mtime + newer,) * 2)
        assets.export_family(tmp_path)
        made.append([each.stat().st_mtime_ns for each in files])
    assert made[0] == made[1]
    assert made[1] < made[2]


def test_the_icons_that_pages_show_come_before_all_of_the_themes(tmp_path):
    assets.subset_icons(tmp_path)
    shown = TTFont(tmp_path / "icons.woff").getBestCmap()
    assert {f"{code:04x}" for code in shown} == set(assets.ICONS.split())
    assert (tmp_path / "icons.woff").stat().st_size < 10_000
    sheet = (tmp_path / "icons.css").read_text()
    assert all(f"U+{icon}" in sheet for icon in assets.ICONS.split())
