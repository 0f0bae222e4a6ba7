"""`rlconnect evaluate`: what a policy is worth by recorded data, on the command line."""

import json
from pathlib import Path

import pytest
from rlconnect.cli.app import main

pytestmark = pytest.mark.torch  # what is estimated are networks of torch

CASE = Path(__file__).parents[1] / "golden/offline/2.60.0/ope_episodes"
GIVEN = ["evaluate", str(CASE / "policy"), "--data", str(CASE / "data"), "--gamma", "0.9"]


def test_estimates_are_printed_as_rays_own(capsys):
    """One document with value and interval of each method; 1 tells that twelve are too few."""
    code = main([*GIVEN, "--json"])

    told = json.loads(capsys.readouterr().out)
    truth = json.loads((CASE / "truth.json").read_text())["estimates"]
    assert code == 1
    for method in ("is", "wis"):
        expected = truth[f"{method}|eps=0.0|iters=None|split=True"]["v_target"]
        low, high = told["estimates"][method]["interval"]
        assert told["estimates"][method]["value"] == pytest.approx(expected, abs=1e-4)
        assert low < expected < high
    assert "12 episodes" in told["findings"][0]


def test_the_output_has_intervals_and_findings(capsys, monkeypatch):
    """Each method with its interval, the weights, the difference, and why not to believe them."""
    monkeypatch.setenv("COLUMNS", "100")

    main([*GIVEN, "--method", "is", "--against", str(CASE / "policy")])

    printed = capsys.readouterr().out
    assert "○ the data cannot answer this" in printed
    assert "is: importance sampling" in printed
    assert "effective sample size" in printed
    assert "no method tells them apart" in printed


@pytest.mark.parametrize(
    ("given", "match"),
    [(["--method", "x"], "no method 'x'"), (["--obs", "odd"], "'raw', 'seen' or 'auto'")],
)
def test_mistakes_are_two_lines(given, match, capsys):
    """They name what would be right."""
    assert main([*GIVEN, *given]) == 2
    assert match in capsys.readouterr().err
