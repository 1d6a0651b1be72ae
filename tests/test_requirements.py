"""The two lists of packages: complete, and with nothing in them that nothing needs."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.metadata import distribution, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.course import ROOT

PYTHONS = ("3.11", "3.12", "3.13")
OF_A_GPU = ("cuda-", "nvidia-", "triton")  # what PyTorch's CUDA build brings along


def pins(name, transitive=None):
    """Return the packages of a list of requirements: all, the wanted ones, or what those need.

    Returns:
        list of Requirement.
    """
    wanted, needed = (ROOT / name).read_text(encoding="utf-8").split("# What those need\n")
    text = {None: wanted + needed, False: wanted, True: needed}[transitive]
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line]


def names(requirements):
    return {canonicalize_name(each.name) for each in requirements}


def closure(requirements):
    """Return the names of what packages need, and of what that needs, on any supported Python."""
    seen, ahead = set(), [(each.name, each.extras) for each in requirements]
    while ahead:
        name, extras = ahead.pop()
        key = canonicalize_name(name), frozenset(extras)
        if key in seen or name.startswith(OF_A_GPU):
            continue
        seen.add(key)
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            surroundings = [
                {"extra": extra, "python_version": python, "python_full_version": f"{python}.9"}
                for extra in ("", *extras)
                for python in PYTHONS
            ]
            if not needed.marker or any(map(needed.marker.evaluate, surroundings)):
                ahead.append((needed.name, needed.extras))
    return {name for name, _ in seen}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-tests.txt"])
def test_every_package_is_pinned_at_the_version_that_is_here(name):
    for each in pins(name):
        assert [clause.operator for clause in each.specifier] == ["=="], each
        assert each.specifier.contains(version(each.name)), f"{each}: not so in this environment"


def test_what_readers_learners_and_instructors_need_is_complete_and_no_more():
    pinned = pins("requirements.txt")
    assert closure(pinned) == names(pinned)
    assert closure(pins("requirements.txt", transitive=False)) == names(pinned)


def test_what_the_tests_need_beyond_is_complete_and_no_more():
    course = names(pins("requirements.txt"))
    tests = names(pins("requirements-tests.txt"))
    assert course & tests == set()
    assert closure(pins("requirements-tests.txt", transitive=False)) - course == tests


def test_where_pytorch_for_processors_is_not_to_be_had_any_build_is_taken(monkeypatch):
    """As from a mirror of PyPI alone, on a machine without a GPU."""
    loader = SourceFileLoader("install", str(ROOT / ".ci" / "install"))
    install = importlib.util.module_from_spec(importlib.util.spec_from_loader("install", loader))
    loader.exec_module(install)
    asked = []

    def installed(lists, gpu, reachable):
        asked.append(lists)
        return "--constraint" not in lists

    monkeypatch.setattr(install, "has_gpu", lambda: False)
    monkeypatch.setattr(install, "can_reach", lambda address: False)
    monkeypatch.setattr(install, "installed", installed)
    install.main(["requirements.txt"])
    assert len(asked) == 2 and asked[1] == ["--requirement", "requirements.txt"]
    monkeypatch.setattr(install, "can_reach", lambda address: True)
    with pytest.raises(SystemExit):  # what failed there was something else
        install.main(["requirements.txt"])
    assert len(asked) == 3


def test_what_reads_a_notebook_compiles_no_grammar_first():
    """Each kernel, each command of nbgrader and each worker of the grader reads notebooks."""
    said = "import sys, nbformat; print('lark' in sys.modules)"
    read = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert read.stdout == "False\n"


def test_the_newest_release_in_the_changelog_is_the_packages_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    heads = re.findall(r"^## (\d+\.\d+\.\d+)(.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    released = [number for number, more in heads if not more]
    assert released[0] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert [more for _, more in heads[: heads.index((version, ""))]] in ([], [", not yet released"])
