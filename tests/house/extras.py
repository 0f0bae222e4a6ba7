"""Run at least one test of each extra with the extra installed: `make extras`.

`make test` skips what is not installed, and the extra `dev` leaves out large ones. The tests
here run in build/extras, an environment on top of .venv, and none may be skipped.
"""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from xml.etree import ElementTree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build/extras"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
TOOLS = {"test", "dev"}  # every target of the Makefile needs these
TESTS = {
    "box2d": ["tests/test_extras.py::test_lunar_lander_is_sampled"],
    "docs": ["tests/docs/test_built.py::test_a_page_says_what_it_is"],
    "export": ["tests/bridge/compiled/test_opened.py"],
    "hub": ["tests/bridge/front/test_hub.py"],
    "mlflow": ["tests/bridge/front/test_mlflow_flavour.py"],
    "offline": ["tests/bridge/test_rollout.py"],
    "ray": [
        "tests/bridge/over_data/test_acting.py::test_actors_of_ray_do_the_same",
        "tests/v2/distributed/test_runner_actors.py::test_same_episodes_for_a_seed_and_merged_filters",
    ],
    "remote": ["tests/core/vault/files/test_remote.py"],
    "serve": ["tests/serve/test_application.py"],
    "video": ["tests/bridge/test_filmed_rollouts.py"],
}
OWN_PINS = {"ray"}  # RLlib pins versions that differ from those in constraints.txt


def install():
    """Create the environment with all extras, and return its Python."""
    bin_ = "Scripts" if sys.platform == "win32" else "bin"
    python = PLACE / bin_ / "python"
    if not python.exists():
        venv.create(PLACE, clear=True)
    at = sysconfig.get_path("purelib", vars={"base": str(PLACE), "platbase": str(PLACE)})
    below = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    Path(at, "zz_below.pth").write_text(below, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    for extra in sorted(EXTRAS.keys() - TOOLS, key=lambda each: each in OWN_PINS):
        pins = [] if extra in OWN_PINS else ["-c", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, *pins, *EXTRAS[extra]], check=True)
    return python


def passed(report):
    """The names of the test modules with a test that passed."""
    cases = ElementTree.parse(report).iter("testcase")
    return {case.get("classname") for case in cases if not len(case)}


def main():
    """Run the tests, and list the extras that none of them exercised."""
    python = install()
    report = PLACE / "report.xml"
    tests = sorted({test for tests in TESTS.values() for test in tests})
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *tests], cwd=ROOT
    )
    if done.returncode:
        return done.returncode
    modules = passed(report)
    names = {
        extra: [test.split(".py")[0].replace("/", ".") for test in TESTS[extra]] for extra in TESTS
    }
    missed = [extra for extra in names if not modules.issuperset(names[extra])]
    print(f"not exercised: {', '.join(missed)}" if missed else "every extra is exercised.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
