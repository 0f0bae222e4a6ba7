"""Descriptions of networks in files: TOML to write by hand, or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..data.toml import parse_toml, toml_value
from ..errors import ConfigError
from ..text.near_names import did_you_mean
from .description import Network, network_of

_MOST_BYTES: Final = 1 << 20
_POLICIES: Final = "policies"

Networks = Mapping[str, Network]


def networks_of(source: Any, ids: Any) -> dict[str, Network]:
    """Networks for all policies or modules by id, from whatever describes them.

    `source` is a description, the path of a file with one, or either with a table `policies` that
    has one for each id; a description without ids is for each of `ids`.

    Raises:
        ConfigError: The file cannot be read, is no network, or is for a policy that is not there.

    Example:
        >>> source = {"layers": [{"dense": "fc"}], "outputs": {"logits": "fc"}}
        >>> list(networks_of(source, ["a", "b"]))
        ['a', 'b']
    """
    data = read_description(source) if isinstance(source, (str, os.PathLike)) else source
    names = list(ids)
    if not isinstance(data, Mapping) or _POLICIES not in data:
        network = network_of(data)
        return {name: network for name in names}
    by_name = data[_POLICIES]
    if not isinstance(by_name, Mapping) or len(data) > 1:
        raise ConfigError(
            "a description of several networks",
            expected="a table `policies` alone, a network in it for each id",
            found=", ".join(map(str, data)),
        )
    for name in by_name:
        if name not in names:
            raise ConfigError(
                f"a network is described for {name!r}, which is not there",
                expected=f"some of {', '.join(map(repr, names))}",
                hint=did_you_mean(str(name), names),
            )
    return {name: network_of(each) for name, each in by_name.items()}


def read_description(path: str | os.PathLike[str]) -> Any:
    """The data in a TOML file, or a JSON file.

    Raises:
        ConfigError: It cannot be read, or is neither.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > _MOST_BYTES:
            raise ConfigError(
                f"the network in {file}",
                expected=f"at most {_MOST_BYTES:,} bytes",
                found=f"{size:,}",
            )
        text = file.read_text(encoding="utf-8")
        return json.loads(text) if file.suffix == ".json" else parse_toml(text)
    except OSError as error:
        raise ConfigError(
            f"the network in {file} cannot be read",
            expected="a TOML or JSON file that describes it",
            found=error.strerror or str(error),
            hint="`inspect --write-model FILE.toml` writes one to start from.",
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(
            f"the network in {file}",
            expected="JSON" if file.suffix == ".json" else "TOML (or JSON in a .json file)",
            found=str(error)[:200],
        ) from None


def toml_text(network: Network, comments: Mapping[str, str] | None = None, head: str = "") -> str:
    """A description as TOML, to be edited by hand.

    Example:
        >>> network = network_of({"layers": [{"dense": "fc"}], "outputs": {"logits": "fc"}})
        >>> print(toml_text(network), end="")
        [[layers]]
        dense = "fc"
        input = "obs"
        <BLANKLINE>
        [outputs]
        logits = "fc"
    """
    lines = [*_commented(head), ""] if head else []
    if network.unused:
        lines += [f"unused = {toml_value(list(network.unused))}", ""]
    for each in network.as_data()["layers"]:
        name = each.get("name") or next(iter(each.values()))
        lines += [*_commented((comments or {}).get(name, "")), "[[layers]]"]
        lines += [f"{key} = {toml_value(value)}" for key, value in each.items()]
        lines.append("")
    lines.append("[outputs]")
    lines += [f"{output} = {toml_value(name)}" for output, name in network.outputs.items()]
    return "\n".join(lines) + "\n"


def _commented(text: str) -> list[str]:
    return [f"# {line}".rstrip() for line in text.splitlines()]
