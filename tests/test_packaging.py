"""What is in `src` is what gets installed: packages, data, version, command."""

import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import rlconnect
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def shipped_files():
    """Every file below `src` that is not a by-product of running it, as it is named in a wheel."""
    return {
        Path("rlconnect", path.relative_to(SRC)).as_posix()
        for path in SRC.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def test_packages_are_listed_and_exist():
    """Each folder with code is listed in pyproject.toml, sorted, and each listed one exists."""
    folders = {path.parent for path in SRC.rglob("*.py")}
    packages = {".".join(("rlconnect", *folder.relative_to(SRC).parts)) for folder in folders}

    listed = PROJECT["tool"]["setuptools"]["packages"]

    assert listed == sorted(packages)
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_it_is_typed_for_its_users():
    """Without the marker file no type checker would read our annotations."""
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["rlconnect"]
    assert (SRC / "py.typed").is_file()


def test_the_version_is_written_once():
    """The build takes the version from the module that also fills `rlconnect.__version__`."""
    source = PROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    module, _, name = source.rpartition(".")

    assert "version" not in PROJECT["project"]
    assert getattr(importlib.import_module(module), name) == rlconnect.__version__
    assert f'"{rlconnect.__version__}"' not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [
        path
        for path in SRC.rglob("*.py")
        if f'"{rlconnect.__version__}"' in path.read_text(encoding="utf-8")
        and path.stem != "version"
    ] == []


@pytest.mark.parametrize(("command", "target"), sorted(PROJECT["project"]["scripts"].items()))
def test_the_command_leads_somewhere(command, target):
    """The function an installed command calls can be imported and called."""
    module, _, function = target.partition(":")

    assert callable(getattr(importlib.import_module(module), function))


def test_constraints_pin_what_the_project_installs():
    """Every dependency that `make` installs is pinned, so that two machines test the same thing."""
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["dev"], *extras["docs"]]
    own = [line for line in wanted if line.startswith("rlconnect[")]
    wanted = [line for line in wanted if line not in own]
    wanted += [line for each in own for extra in Requirement(each).extras for line in extras[extra]]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]

    for requirement in map(Requirement, wanted):
        name = canonicalize_name(requirement.name)
        matching = [pin for pin in pins if canonicalize_name(pin.name) == name]
        assert matching, f"{requirement.name} is not pinned"
        for pin in matching:
            (spec,) = pin.specifier
            assert spec.operator == "=="
            assert requirement.specifier.contains(spec.version, prereleases=True)


def test_no_extra_is_empty():
    """Whoever asks for one gets something."""
    assert all(PROJECT["project"]["optional-dependencies"].values())


def test_the_small_installation_lacks_torch_alone():
    """The line of the README installs every dependency but torch."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = [each for each in lines if each.startswith("    pip install numpy ")]
    asked = map(Requirement, PROJECT["project"]["dependencies"])
    needed = [each.name for each in asked if each.marker is None]

    assert line.split()[2:] == [name for name in needed if name != "torch"]


@pytest.mark.slow
def test_a_source_distribution_holds_all_that_its_tests_read(tmp_path):
    """Tests, golden data, examples, documents, pins and the rules of the house travel with it."""
    pytest.importorskip("setuptools", minversion="77")
    project = tmp_path / "project"
    made = (".git", ".venv", ".*_cache", ".hypothesis", ".coverage*", "__pycache__", "*.egg-info")
    skipped = shutil.ignore_patterns(*made, "build", "dist", "site", "PKG-INFO", "setup.cfg")
    shutil.copytree(ROOT, project, ignore=skipped)
    wanted = {path.relative_to(project).as_posix() for path in project.rglob("*")}
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"

    done = subprocess.run(
        [sys.executable, "-c", build], cwd=project, capture_output=True, text=True, encoding="utf-8"
    )

    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    assert wanted - names == set()


@pytest.mark.slow
def test_a_wheel_holds_everything(tmp_path):
    """A wheel built from this tree carries every module and data file, the command, the licence."""
    pytest.importorskip("setuptools", minversion="77")
    project = tmp_path / "project"
    project.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    shutil.copytree(SRC, project / "src", ignore=shutil.ignore_patterns("__pycache__"))

    build = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*build, "-v", "--no-index", "-w", str(tmp_path)],
        cwd=project,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )

    assert done.returncode == 0, done.stderr
    assert "Warning: Package" not in done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"rlconnect-{rlconnect.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if name.startswith("rlconnect/")} == shipped_files()
    assert any(name.endswith("entry_points.txt") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with zipfile.ZipFile(wheel) as held:
        held.extractall(tmp_path / "installed")
    asked = "import rlconnect.cli.app as app; print(app.__file__); app.main(['sample', 'here'])"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert Path(done.stdout.splitlines()[0]).is_relative_to(tmp_path / "installed"), done.stderr
    (sample,) = (tmp_path / "here").iterdir()
    assert rlconnect.open_checkpoint(sample).algorithm == "PPO"
