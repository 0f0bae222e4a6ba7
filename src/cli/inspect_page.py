"""The page `rlconnect inspect` shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..core.vault import Checkpoint, WeightTable
from .theme import LEVEL_MARKS, LEVEL_STYLES

_WROTE = {"old": "old API stack", "new": "new API stack", "rlconnect": "rlconnect"}
_KINDS = {
    "algorithm": "algorithm checkpoint",
    "policy": "policy checkpoint",
    "policies": "folder of policies",
    "module": "RLModule checkpoint",
    "multi_module": "MultiRLModule checkpoint",
    "component": "component checkpoint",
}
_MAX_SHOWN = 12


def inspect_page(
    checkpoint: Checkpoint, description: dict[str, Any], *, with_weights: bool = False
) -> RenderableType:
    """Everything about a checkpoint on one page."""
    parts: list[RenderableType] = [_header(description)]
    for name, record in {**description["policies"], **description["modules"]}.items():
        parts.append(_section(f"{_word(record)} {name}"))
        parts.append(_policy(record))
        if with_weights:
            parts.append(Padding(weights_table(checkpoint.acting[name].weights), (1, 0, 0, 2)))
    components = [part for part in description["components"] if part["pieces"] or part["filters"]]
    if components:
        parts.append(_section("pipelines"))
        parts.append(_facts(_component_lines(components)))
    if description["foreign"]:
        parts.append(_section("names code of its author"))
        parts.append(_foreign(description["foreign"]))
    if description["problems"] or description["skipped"]:
        parts.append(_section("not read"))
        parts.append(_problems(description))
    parts.append(_section("next"))
    parts.append(_next(description["next"]))
    return Group(*parts)


def _word(record: dict[str, Any]) -> str:
    return "policy" if "policy_class" in record else "module"


def _section(title: str) -> RenderableType:
    return Padding(Rule(Text(title, style="title"), align="left", style="dim"), (1, 0, 0, 0))


def _header(d: dict[str, Any]) -> Panel:
    level = d["verdict"]["level"]
    style = LEVEL_STYLES[level]
    written = f"Ray {d['ray_version']}" if d["ray_version"] else "a Ray that left no version"
    if d["stack"] == "rlconnect":
        written = "rlconnect"
    lines = [
        ("written by", f"{written}, {_WROTE[d['stack']]}"),
        ("layout", f"version {d['version']}, {d['encoding'] or 'no state files'}"),
        ("environment", d["environment"]),
        ("trained", _trained(d)),
        ("files", _files(d["files"])),
    ]
    verdict = Text.assemble(
        (f"{LEVEL_MARKS[style]} {level}", style), ("  ", ""), (d["verdict"]["reason"], "")
    )
    title = f"{d['algorithm']} {_KINDS[d['kind']]}".strip()
    body = Group(_facts(lines), Text(), verdict)
    return Panel(
        body,
        title=f"[title]{escape(title)}[/]",
        subtitle=f"[label]{escape(_short(d['path']))}[/]",
        title_align="left",
        subtitle_align="left",
        box=box.ROUNDED,
        border_style=style,
        padding=(1, 2),
    )


def _short(path: str) -> str:
    here = os.path.relpath(path)
    return here if len(here) < len(path) else path


def _trained(d: dict[str, Any]) -> str:
    found = []
    if d["training_iteration"] is not None:
        count = d["training_iteration"]
        found.append(f"{count:,} iteration{'' if count == 1 else 's'}")
    steps = [p["global_timestep"] for p in d["policies"].values() if p["global_timestep"]]
    if steps:
        found.append(f"{max(steps):,} steps")
    return ", ".join(found)


def _files(files: list[dict[str, Any]]) -> str:
    size = sum(file["size"] for file in files)
    return f"{len(files)} read, {size / 1024:,.1f} KiB" if files else ""


def _facts(lines: list[tuple[str, Any]]) -> Table:
    """Labels and values in two columns; empty values are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="label", justify="right", no_wrap=True, min_width=12)
    table.add_column(overflow="fold")
    for label, value in lines:
        if value:
            table.add_row(label, value if not isinstance(value, str) else Text(value))
    return table


def _policy(record: dict[str, Any]) -> RenderableType:
    lines: list[tuple[str, Any]] = [
        ("class", _class_name(record.get("policy_class") or record.get("module_class") or "")),
        ("framework", record.get("framework")),
        ("observation", _space(record["observation_space"])),
    ]
    flat = record.get("preprocessed_space")
    if flat and flat != record["observation_space"]:
        lines.append(("preprocessed", flat["text"]))
    lines += [
        ("action", _space(record["action_space"])),
        ("network", record["network"]),
        ("exploration", (record.get("exploration") or {}).get("type")),
    ]
    connectors = record.get("connectors")
    if connectors:
        if connectors["agent"]:
            lines.append(("to policy", _chain("obs", connectors["agent"], "network")))
        if connectors["action"]:
            lines.append(("to env", _chain("network", connectors["action"], "action")))
    lines += [("filter", _filter(found)) for found in record.get("filters", [])]
    level = record["verdict"]["level"]
    if level != "complete":
        text = f"{level}: {record['verdict']['reason']}"
        lines.append(("verdict", Text(text, style=LEVEL_STYLES[level])))
    return _facts(lines)


def _class_name(path: str) -> Text:
    """The class with the module it lives in, dimmed."""
    module, _, name = path.rpartition(".")
    return Text.assemble((name, ""), (f"  in {module}" if module else "", "label"))


def _space(space: dict[str, Any] | None) -> Any:
    return space["text"] if space else Text("lost", style="bad")


def _chain(start: str, pieces: list[dict[str, Any]], end: str) -> Text:
    chain = Text(start, style="dim")
    for piece in pieces:
        chain.append(" → ", style="dim")
        chain.append(_piece_name(piece["name"]), style="name")
    return chain.append(f" → {end}", style="dim")


def _piece_name(name: str) -> str:
    for suffix in ("ObservationFilterAgentConnector", "AgentConnector", "Connector"):
        if name.endswith(suffix) and name != suffix:
            return name[: -len(suffix)]
    return name


def _filter(found: dict[str, Any]) -> str:
    if not found["count"]:
        return str(found["kind"])
    means = [number for leaf in found["mean"] for number in np.ravel(leaf).tolist()]
    shown = ", ".join(f"{number:.4g}" for number in means[:4])
    more = ", …" if len(means) > 4 else ""
    clip = f", clipped at {found['clip']:g}" if found["clip"] else ""
    return f"{found['kind']} over {max(found['count']):,} observations, mean ({shown}{more}){clip}"


def _component_lines(components: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    lines: list[tuple[str, Any]] = []
    for part in components:
        name = part["path"].rpartition("/")[2] or part["class"].rpartition(".")[2]
        if part["pieces"]:
            ends = ("network", "action") if "module_to_env" in part["path"] else ("obs", "network")
            lines.append((name, _chain(ends[0], part["pieces"], ends[1])))
        lines += [(name, _filter(found)) for found in part["filters"]]
    return lines


def _foreign(foreign: list[dict[str, Any]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="name", overflow="fold")
    table.add_column(overflow="fold")
    table.add_column(style="label", overflow="fold")
    for reference in foreign[:_MAX_SHOWN]:
        kind = reference["kind"]
        if reference["python"]:
            kind += f", code of Python {reference['python']}"
        table.add_row(Text(reference["name"]), Text(kind), Text(reference["where"]))
    if len(foreign) > _MAX_SHOWN:
        table.add_row(Text(f"and {len(foreign) - _MAX_SHOWN} more", style="label"), "", "")
    note = Text("kept as inert data; none of it is run or needed to read the weights.", "label")
    outer = Table.grid()
    outer.add_row(Padding(table, (0, 0, 0, 2)))
    outer.add_row(Padding(note, (0, 0, 0, 2)))
    return outer


def _problems(description: dict[str, Any]) -> Table:
    lines: list[tuple[str, Any]] = []
    for problem in description["problems"][:_MAX_SHOWN]:
        text = Text(problem["what"], style="warn")
        if problem["hint"]:
            text.append(f"\n{problem['hint']}", style="label")
        lines.append((problem["where"] or "checkpoint", text))
    lines += [("skipped", line) for line in description["skipped"][:_MAX_SHOWN]]
    return _facts(lines)


def _next(steps: list[dict[str, str]]) -> RenderableType:
    return Group(*_next_lines(steps))


def _next_lines(steps: list[dict[str, str]]) -> Iterator[Text]:
    for step in steps:
        yield Text(f"  {step['purpose']}", style="label")
        yield Text(f"    {step['command']}", style="command", overflow="fold")


def weights_table(weights: WeightTable) -> Table:
    """Every array with shape, dtype and what its numbers look like."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="label")
    table.add_column("array", style="name", overflow="fold")
    for title in ("shape", "dtype", "least", "mean", "most", "spread"):
        table.add_column(title, justify="right" if title != "dtype" else "left")
    for name in weights:
        shape, dtype = weights.describe(name)
        size = " × ".join(map(str, shape)) or "scalar"
        table.add_row(Text(name), size, dtype, *_range(weights[name]))
    return table


def _range(array: np.ndarray[Any, Any]) -> tuple[str, ...]:
    if not array.size or array.dtype.kind not in "fiub":
        return ("", "", "", "")
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if finite.size < numbers.size:
        return (Text("not finite", "bad").markup, "", "", "")
    found = (finite.min(), finite.mean(), finite.max(), finite.std())
    return tuple(f"{number:.4g}" for number in found)
