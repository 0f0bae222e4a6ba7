"""TOML from untrusted sources: keys whose time grows with the square of their parts are refused."""

import pytest
from rlconnect.core.data.toml import parse_toml

LONG = ".".join(["a"] * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1",
        f"[{LONG}]\nb = 1",
        f"[[{LONG}]]\nb = 1",
        f"x = {{ {LONG} = 1 }}",
        '"a".' * 1000 + "a = 1",
        "'a' . " * 1000 + "a = 1",
        "1.1." * 1000 + "a = 1",
        'x = ["""\n""", {' + "a." * 1000 + 'a = 1}, "b"]',
        '"\u2028".' * 1000 + "a = 1",
        "x = " + "[" * 100_000,
        "x = " + "[" * 100 + "]" * 100,
        "x = " + "{a = " * 100 + "1" + "}" * 100,
        "\n".join(["a." * 20 + "b = {" + "c." * 60 + "d = 1}"]),
    ],
)
def test_long_keys_and_deep_values_are_refused(text):
    """Before the parser reads them; values that are nested too deeply after it."""
    with pytest.raises(ValueError, match=r"parts|nested"):
        parse_toml(text)


@pytest.mark.parametrize(
    "value",
    [
        [0.5] * 1000,
        ["out/a.b.json"] * 100,
        "." * 1000,
        "it's 1.5. " * 100,
        [[["a.b"] * 50] * 2] * 2,
    ],
)
def test_dots_in_values_are_no_keys(value):
    """Arrays of numbers and of file names, and texts."""
    from rlconnect.core.data.toml import toml_value

    assert parse_toml(f"x = {toml_value(value)}") == {"x": value}
