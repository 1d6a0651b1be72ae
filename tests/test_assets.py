"""What the book serves beside its pages: the pinned archive or nothing, once; and a sentence about what is missing."""

import base64
import hashlib
import io
import tarfile
import urllib.error

import pytest

from book import assets


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
        "files": ("dist/two.wasm",),
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
    assert asked == [f"https://registry.npmjs.org/@some/thing/-/thing-1.2.{number}.tgz" for number in (3, 4)]
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
