"""The page `rlconnect inspect` shows.

Every text a checkpoint brings passes `visible_data` first, and reaches the page as `Text`, never
as markup: a name cannot clear the screen, colour the page or break a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..core.text.visible import visible, visible_data
from ..core.vault import Checkpoint, WeightTable
from ..core.vault.decode.standins import class_path
from ..core.vault.next_steps import short_path
from .hints import shell_hint
from .theme import LEVEL_MARKS, LEVEL_STYLES

_KINDS = {
    "algorithm": "algorithm checkpoint",
    "policy": "policy checkpoint",
    "policies": "folder of policies",
    "module": "RLModule checkpoint",
    "multi_module": "MultiRLModule checkpoint",
    "component": "component checkpoint",
    "actor": "saved actor",
    "migrated": "migrated policy",
}
_WIDE = 96  # columns a terminal needs for all that is said of an array
_MAX_SHOWN = 12
_MOST_LAYERS = 40


def inspect_page(
    checkpoint: Checkpoint,
    description: dict[str, Any],
    *,
    with_weights: bool = False,
    width: int = 100,
) -> RenderableType:
    """Everything about a checkpoint on one page for a terminal `width` columns wide."""
    shown = visible_data(description)
    acting = {**description["policies"], **description["modules"]}
    parts: list[RenderableType] = [_header(shown)]
    for name, record in acting.items():
        parts += _section(f"{word_of(record)} {visible(name)}")
        parts.append(_facts(policy_lines(visible_data(record))))
        if record.get("proposal"):
            parts += _section("its network, as names and shapes of weights suggest it")
            parts.append(_proposal(visible_data(record["proposal"])))
        if with_weights:
            parts.append(weights_table(checkpoint.acting[name].weights, width=width))
    if shown["unsafe"]:
        parts += _section("programs that an ordinary unpickler would run")
        parts += _unsafe(shown["unsafe"])
    components = [part for part in shown["components"] if part["pieces"] or part["filters"]]
    if components:
        parts += _section("pipelines")
        parts.append(_facts(_component_lines(components)))
    if shown["foreign"]:
        parts += _section("code of its author")
        parts += _foreign(shown["foreign"])
    if shown["problems"] or shown["skipped"]:
        parts += _section("missing or not read")
        parts.append(_facts(problem_lines(shown)))
    return Group(*parts)


def next_lines(steps: list[dict[str, str]]) -> Iterator[RenderableType]:
    """What to do next; to be printed without wrapping, so that commands can be copied."""
    yield from _section("next")
    for step in (printable for printable in steps if printable["command"].isprintable()):
        yield Text(f"  {step['purpose']}", style="label")
        yield Text(f"    {visible(step['command'], 8000)}", style="command")


def word_of(record: dict[str, Any]) -> str:
    """Whether it is a policy or a module."""
    return "policy" if "policy_class" in record else "module"


def _section(title: str) -> tuple[RenderableType, ...]:
    return Text(), Rule(Text(title, style="title"), align="left", style="dim")


def header_lines(d: dict[str, Any]) -> list[tuple[str | Text, Any]]:
    """Who wrote a checkpoint, and what it is made of."""
    written = f"Ray {d['ray_version']}" if d["ray_version"] else "a Ray that left no version"
    if d["is_ours"]:
        came = f", from {written}" if d["ray_version"] else ""
        layout = "" if d["stack"] == "rlconnect" else ", in Ray's layout"
        written = f"rlconnect{came}{layout}"
    stack = "new API stack" if d["stack"] == "new" else "old API stack"
    return [
        ("written by", written if d["stack"] == "rlconnect" else f"{written}, {stack}"),
        ("layout", f"version {d['version']}, {d['encoding'] or 'no state files'}"),
        ("environment", d["environment"]),
        ("trained", _trained(d)),
        ("files", _files(d["files"])),
        ("checked", _claims(d["verdict"])),
    ]


def _claims(verdict: dict[str, Any]) -> str:
    """Whether it is complete, loadable and runnable, each as far as that was tried."""
    words = ("complete", "loadable", "runnable")
    known = [(word, verdict[word]) for word in words if verdict[word] is not None]
    return ", ".join(word if is_so else f"not {word}" for word, is_so in known)


def title_of(d: dict[str, Any]) -> str:
    """What a checkpoint is, in a few words."""
    if d["kind"] == "component":
        return _KINDS[d["kind"]]
    return f"{d['algorithm'] or 'unknown'} {_KINDS[d['kind']]}"


def _header(d: dict[str, Any]) -> Panel:
    level = d["verdict"]["level"]
    style = LEVEL_STYLES[level]
    verdict = Text.assemble(
        (f"{LEVEL_MARKS[style]} {level}", style), ("  ", ""), (d["verdict"]["reason"], "")
    )
    body = Group(_facts(header_lines(d)), Text(), verdict)
    return Panel(
        body,
        title=Text(title_of(d), "title"),
        subtitle=Text(short_path(d["path"]), "label"),
        title_align="left",
        subtitle_align="left",
        box=box.ROUNDED,
        border_style=style,
        padding=(1, 2),
    )


def _trained(d: dict[str, Any]) -> str:
    progress = []
    if d["training_iteration"] is not None:
        count = d["training_iteration"]
        progress.append(f"{_number(count)} iteration{'' if count == 1 else 's'}")
    if d["steps"] is not None:
        progress.append(f"{_number(d['steps'])} steps")
    return ", ".join(progress)


def _number(count: int | str) -> str:
    return f"{count:,}" if isinstance(count, int) else count


def _files(files: list[dict[str, Any]]) -> str:
    size = sum(file["size"] for file in files)
    return f"{len(files)} read, {size / 1024:,.1f} KiB" if files else ""


def _facts(lines: list[tuple[str | Text, Any]]) -> Table:
    """Labels and values in two columns; empty values are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="label", justify="right", no_wrap=True, min_width=12)
    table.add_column(overflow="fold")
    for label, value in lines:
        if value:
            name = label if isinstance(label, Text) else Text(label)
            shown = value if isinstance(value, (Text, Table)) else Text(visible(value))
            table.add_row(name, shown)
    return table


def policy_lines(record: dict[str, Any]) -> list[tuple[str | Text, Any]]:
    """The facts of a policy or module, each with its label."""
    lines: list[tuple[str | Text, Any]] = [
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
        ("exploration", _exploration(record.get("exploration"))),
    ]
    connectors = record.get("connectors")
    if connectors:
        if connectors["agent"]:
            lines.append(("to policy", _chain("obs", connectors["agent"], "network")))
        if connectors["action"]:
            lines.append(("to env", _chain("network", connectors["action"], "action")))
    lines += [("filter", _filter(statistics)) for statistics in record.get("filters", [])]
    level = record["verdict"]["level"]
    if level != "complete":
        text = f"{level}: {record['verdict']['reason']}"
        lines.append(("verdict", Text(text, style=LEVEL_STYLES[level])))
    return lines


def _proposal(proposal: dict[str, Any]) -> RenderableType:
    """A proposed network, a line for each layer."""
    shown = proposal["layers"][:_MOST_LAYERS]
    lines = [Text(f"  {line}") for line in shown]
    if len(proposal["layers"]) > len(shown):
        lines.append(Text(f"  and {len(proposal['layers']) - len(shown)} more", style="label"))
    if proposal["decided"]:
        lines.append(Text(f"  {proposal['decided']}", style="label"))
    elif proposal["guessed"]:
        lines.append(Text("  (?) stands in no file: it is a guess", style="label"))
    return Group(*lines)


def _exploration(settings: Any) -> str:
    """Its kind, however the file names it: by a word or a class, in settings or alone."""
    kind = settings.get("type") if isinstance(settings, dict) else settings
    return class_path(kind).rpartition(".")[2] if kind else ""


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
        chain.append(piece_name(piece["name"]), style="name")
        if piece.get("steps"):
            chain.append(f"({visible('; '.join(piece['steps']))})", style="label")
    return chain.append(f" → {end}", style="dim")


def piece_name(name: str) -> str:
    """A connector's name without the words that all of them end in."""
    for suffix in ("ObservationFilterAgentConnector", "AgentConnector", "Connector"):
        if name.endswith(suffix) and name != suffix:
            return name[: -len(suffix)]
    return name


def _filter(moments: dict[str, Any]) -> str:
    if not moments["count"]:
        return str(moments["kind"])
    means = [number for leaf in moments["mean"] for number in np.ravel(leaf).tolist()]
    shown = ", ".join(f"{number:.4g}" for number in means[:4])
    more = ", …" if len(means) > 4 else ""
    clip = f", clipped at {moments['clip']:g}" if moments["clip"] else ""
    return (
        f"{moments['kind']} over {max(moments['count']):,} observations, mean ({shown}{more}){clip}"
    )


def _component_lines(components: list[dict[str, Any]]) -> list[tuple[str | Text, Any]]:
    lines: list[tuple[str | Text, Any]] = []
    for part in components:
        name = part["path"].rpartition("/")[2] or part["class"].rpartition(".")[2]
        if part["pieces"]:
            ends = ("network", "action") if "module_to_env" in part["path"] else ("obs", "network")
            lines.append(
                (name.removesuffix("_connector"), _chain(ends[0], part["pieces"], ends[1]))
            )
        lines += [("filter", _filter(statistics)) for statistics in part["filters"]]
    return lines


def _unsafe(calls: list[dict[str, Any]]) -> list[RenderableType]:
    lines = []
    for call in calls[:_MAX_SHOWN]:
        arguments = f"({call['arguments']})" if call["how"] == "called" else f"  {call['how']}"
        lines.append(
            Text.assemble((call["name"], "bad"), arguments, (f"  {call['what']}", "label"))
        )
        lines.append(Text(f"  in {call['where']}", "label", overflow="fold"))
    if len(calls) > _MAX_SHOWN:
        lines.append(Text(f"and {len(calls) - _MAX_SHOWN} more: see --audit", "label"))
    lines.append(Text("rlconnect keeps these as inert data: do not open the files with others."))
    return [Padding(line, (0, 0, 0, 2), expand=False) for line in lines]


def _foreign(foreign: list[dict[str, Any]]) -> list[RenderableType]:
    lines = []
    for reference in foreign[:_MAX_SHOWN]:
        kind = reference["kind"]
        if reference["python"]:
            kind += f", code of Python {reference['python']}"
        lines.append(Text.assemble((reference["name"], "name"), f"  {kind}"))
        lines.append(Text(f"  in {reference['where']}", "label", overflow="fold"))
    if len(foreign) > _MAX_SHOWN:
        lines.append(Text(f"and {len(foreign) - _MAX_SHOWN} more: see --json", "label"))
    lines.append(Text("Kept as inert data: none of it is run, or needed to read the weights."))
    return [Padding(line, (0, 0, 0, 2), expand=False) for line in lines]


def problem_lines(description: dict[str, Any]) -> list[tuple[str | Text, Any]]:
    """What is missing or was not read, with hints."""
    lines: list[tuple[str | Text, Any]] = []
    for problem in description["problems"][:_MAX_SHOWN]:
        place, what = problem["where"], problem["what"]
        text = Text(what if place.rpartition("/")[2] in what else f"{place}: {what}")
        if hint := shell_hint(problem["hint"]):
            text.append(f"\n{hint}", style="label")
        word = problem["kind"]
        lines.append((Text(word, "warn" if word == "note" else "bad"), text))
    lines += [("skipped", line) for line in description["skipped"][:_MAX_SHOWN]]
    for part in ("problems", "skipped"):
        if len(description[part]) > _MAX_SHOWN:
            lines.append(("", f"and {len(description[part]) - _MAX_SHOWN} more: see --json"))
    return lines


def weights_table(weights: WeightTable, *, width: int = 100) -> Table:
    """Every array with shape, dtype and what its numbers look like."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="label")
    table.add_column("array", style="name", overflow="fold")
    table.add_column("shape", justify="right", no_wrap=True)
    table.add_column("dtype", no_wrap=True)
    table.add_column("from", justify="right", no_wrap=True)
    table.add_column("to", justify="right", no_wrap=True)
    if width >= _WIDE:
        table.add_column("mean ± spread", justify="right", no_wrap=True)
    for name in weights:
        shape, dtype = weights.describe(name)
        size = "×".join(map(str, shape)) or "scalar"
        numbers = _range(weights[name])[: 3 if width >= _WIDE else 2]
        table.add_row(Text(visible(name)), size, visible(dtype, 16), *numbers)
    return table


def _range(array: np.ndarray[Any, Any]) -> tuple[Text, Text, Text]:
    """Least, greatest, and mean with standard deviation."""
    if not array.size or array.dtype.kind not in "fiub":
        return Text(), Text(), Text()
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if finite.size < numbers.size:
        lost = numbers.size - finite.size
        return Text("not", "bad"), Text("finite", "bad"), Text(f"{lost:,} of {numbers.size:,}")
    least, most = (f"{number:.3g}" for number in (finite.min(), finite.max()))
    return Text(least), Text(most), Text(f"{finite.mean():.2g} ± {finite.std():.2g}")
