"""The workflow of GitHub: it calls .ci/run on Linux and plain commands elsewhere; it cannot run here, so it is read."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from qsim_program import QSIM

from qsim.installed import install_hint


@pytest.fixture(scope="module")
def jobs(repository: Path) -> dict[str, Any]:
    """The jobs by their names."""
    return _jobs(repository, "tests")


def _jobs(repository: Path, name: str) -> dict[str, Any]:
    file = repository / ".github" / "workflows" / f"{name}.yml"
    found: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))["jobs"]
    return found


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_linux_runs_what_continuous_integration_runs_and_the_demo_on_every_python(
    jobs: dict[str, Any], repository: Path
) -> None:
    linux = jobs["linux"]
    assert linux["runs-on"].startswith("ubuntu")
    assert commands(linux) == [".ci/run", "make demo"]
    assert os.access(repository / ".ci" / "run", os.X_OK)
    assert re.search(r"^demo:", (repository / "Makefile").read_text("utf-8"), re.MULTILINE)
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert linux["strategy"]["matrix"]["python"] == supported  # strings: 3.10 would be the number 3.1
    assert linux["env"]["PYTHON"] == "python${{ matrix.python }}"  # .ci/bootstrap takes it
    lowest = project["requires-python"].removeprefix(">=")
    (setup,) = (step for step in linux["steps"] if "setup-python" in step.get("uses", ""))
    assert setup["with"]["python-version"].split("\n")[0] == lowest  # for the lowest packages


def test_other_systems_run_commands_that_exist(jobs: dict[str, Any], repository: Path) -> None:
    other = jobs["elsewhere"]
    assert {system.partition("-")[0] for system in other["strategy"]["matrix"]["os"]} == {"macos", "windows"}
    install, *rest = commands(other)
    assert shlex.split(install) == ["python", "-m", "pip", "install", "--editable", ".[test]"]
    for command in rest:
        program, *words = shlex.split(command)
        if program == "qsim":
            ran = subprocess.run([*QSIM, *words], capture_output=True, text=True, check=False)
        else:
            assert [program, *words[:2]] == ["python", "-m", "pytest"]
            assert all((repository / word).is_dir() for word in words if word.startswith("tests"))
            options = [word for word in words if not word.startswith("tests")]
            gather = [sys.executable, *options, "tests/golden", "--collect-only", "-q", "-p", "no:cacheprovider"]
            ran = subprocess.run(gather, cwd=repository, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_actions_are_named_with_their_version(jobs: dict[str, Any]) -> None:
    uses = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert uses
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in uses)


def test_a_tag_publishes_what_the_tests_passed_and_the_release_check_built_and_tried(repository: Path) -> None:
    release = _jobs(repository, "release")
    assert (repository / release["tests"]["uses"]).name == "tests.yml"
    assert "\n  workflow_call:\n" in (repository / release["tests"]["uses"]).read_text("utf-8")
    assert commands(release["build"])[-1] == "make release-check"
    assert release["publish"]["needs"] == ["tests", "build"]
    assert commands(release["publish"]) == []
    for name in ("Makefile", ".ci/release-check"):
        assert "release-check" in (repository / name).read_text("utf-8")
    assert os.access(repository / ".ci" / "release-check", os.X_OK)


@pytest.mark.parametrize(("tag", "fits"), [("v0.1.0", True), ("v0.1.1", False)])
def test_a_tag_that_is_not_the_version_publishes_nothing(tag: str, fits: bool, repository: Path) -> None:
    first = commands(_jobs(repository, "release")["build"])[0]
    for name, value in (("github.ref_name", tag), ("github.repository", "qsim-queue/qsim")):
        first = first.replace(f"${{{{ {name} }}}}", value)
    ran = subprocess.run(["bash", "-e", "-c", first], cwd=repository, check=False)
    assert (ran.returncode == 0) == fits


@pytest.mark.parametrize(("heading", "fits"), [("2027-01-15", True), ("unreleased", False)])
def test_a_changelog_without_the_date_publishes_nothing(
    heading: str, fits: bool, repository: Path, tmp_path: Path
) -> None:
    check = commands(_jobs(repository, "release")["build"])[1].replace("${{ github.ref_name }}", "v0.1.0")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## [0.1.0] - {heading}\n", encoding="utf-8")
    ran = subprocess.run(["bash", "-e", "-c", check], cwd=tmp_path, check=False)
    assert (ran.returncode == 0) == fits


def test_the_source_archive_holds_what_its_makefile_and_its_tests_read(
    repository: Path, require_module: Callable[[str, str], None]
) -> None:
    require_module("hatchling", "pip install hatchling")
    builder = importlib.import_module("hatchling.builders.sdist").SdistBuilder(str(repository))
    held = {file.distribution_path for file in builder.recurse_included_files()}
    read = {*re.findall(r"\.ci/[\w-]+", (repository / "Makefile").read_text("utf-8"))}
    read |= {".ci/run", ".github/workflows/release.yml", ".pre-commit-config.yaml", ".readthedocs.yaml", "CITATION.cff"}
    assert read - held == set()


def test_the_readme_of_the_index_installs_by_name_and_links_absolutely(
    repository: Path, require_module: Callable[[str, str], None]
) -> None:
    require_module("hatch_fancy_pypi_readme", "pip install hatch-fancy-pypi-readme")
    core = importlib.import_module("hatchling.metadata.core")
    plugins = importlib.import_module("hatchling.plugin.manager").PluginManager()
    shown = core.ProjectMetadata(str(repository), plugins).core.readme
    assert install_hint("lab") in shown
    assert "'.[lab]'" not in shown
    assert re.findall(r"\]\((?!https://)[^)]*\)", shown) == []


def test_hooks_run_what_lint_runs(repository: Path) -> None:
    (local,) = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    hooks = " ".join(hook["entry"] for hook in local["hooks"])
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (repository / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert lint is not None
    for line in lint[1].replace("$(BIN)", ".venv/bin").splitlines():
        program = line.strip().removesuffix(" .").removesuffix(" check .").replace("format --check", "format")
        assert program in hooks


def test_the_citation_is_of_the_version_that_is_released(repository: Path) -> None:
    cited = yaml.safe_load((repository / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert cited["repository-code"] == project["urls"]["Source"]
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in project["authors"]]
