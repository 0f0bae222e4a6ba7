"""`rlconnect doctor`: what is fit, what is not, and what to do about it."""

import json
from importlib import metadata

import pytest
from rlconnect.cli import doctor_command
from rlconnect.cli.app import main

pytestmark = pytest.mark.torch


@pytest.fixture
def versions(monkeypatch):
    """Versions that packages pretend to have; None for one that is not installed."""
    pretended = {}
    really = metadata.version

    def version(name):
        found = pretended.get(name, really)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found(name) if callable(found) else found

    monkeypatch.setattr(doctor_command.metadata, "version", version)
    return pretended


def checks_of(capsys):
    told = json.loads(capsys.readouterr().out)
    return told["fit"], {check["name"]: check for check in told["checks"]}


def test_what_runs_these_tests_is_fit(capsys):
    """Packages, torch and a policy that acts."""
    assert main(["doctor", "--json"]) == 0

    is_fit, checks = checks_of(capsys)
    assert is_fit
    assert checks["numpy"]["is_fit"]
    assert checks["a policy acts"]["is_fit"]


def test_a_package_too_old_is_a_finding(versions, capsys):
    """With the command that mends it."""
    versions["numpy"] = "1.20.3"

    assert main(["doctor"]) == 1

    told = capsys.readouterr().out
    assert "numpy: python -m pip install 'numpy>=1.26'" in told
    assert "1 of" in told


def test_an_extra_that_is_not_there_is_no_fault(versions, capsys):
    """One with a package that is too old is."""
    versions["onnx"] = None
    versions["fsspec"] = "2020.1"

    assert main(["doctor", "--json"]) == 1

    is_fit, checks = checks_of(capsys)
    assert not is_fit
    assert checks["export"]["is_fit"] is None
    assert checks["export"]["hint"] == "python -m pip install 'rlconnect[export]'"
    assert checks["remote"]["is_fit"] is False


def test_an_action_of_other_digits_is_a_finding(monkeypatch, capsys):
    """A broken numpy or torch shows in what the sample does."""
    monkeypatch.setattr(doctor_command, "_ACTION", 0.5)

    assert main(["doctor", "--json"]) == 1

    assert "0.5 was expected" in checks_of(capsys)[1]["a policy acts"]["hint"]


def test_help_of_a_command_ends_with_examples(capsys):
    """Commands of the tour and more, each on a line of its own."""
    assert main(["verify", "--help"]) == 0

    told = capsys.readouterr().out
    assert "    rlconnect verify ppo-pendulum-ray-2.7 migrated\n" in told
    assert "    rlconnect verify migrated\n" in told
