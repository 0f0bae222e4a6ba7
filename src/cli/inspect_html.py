"""The page of `rlconnect inspect --html`: facts, pieces, weights and filters of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from gymnasium import Space

from ..core.adapters import AdapterChain, BoundChain
from ..core.adapters.drawing import drawn
from ..core.errors import RlconnectError
from ..core.pages.charts import bars, interval_rows
from ..core.pages.document import Markup, document, facts, flow, pill
from ..core.spaces.own_layout import space_from_data
from ..core.spaces.text import short_space
from ..core.text.visible import visible_data
from ..core.text.visible import visible_html as escape
from ..core.vault import Checkpoint
from ..core.vault.readers.spaces_in_files import space_in
from ..core.vault.records.records import ConnectorRecord
from .inspect_page import header_lines, piece_name, policy_lines, problem_lines, title_of, word_of

_BINS: Final = 16
_MOST_ARRAYS: Final = 60
_MOST_FEATURES: Final = 24


def inspect_html(checkpoint: Checkpoint, description: dict[str, Any]) -> str:
    """The whole page."""
    shown = visible_data(description)
    level, reason = shown["verdict"]["level"], shown["verdict"]["reason"]
    body = [
        f"<h1>{escape(title_of(shown))}</h1>",
        f"<p class=soft>{escape(shown['path'])}</p>",
        pill(f"{level}: {reason}", is_good=level == "complete"),
        _facts(header_lines(shown)),
    ]
    for name, record in {**shown["policies"], **shown["modules"]}.items():
        body += [f"<h2>{word_of(record)} {escape(name)}</h2>", _facts(policy_lines(record))]
        body += _pieces(checkpoint, name, record)
    for name, record in {**description["policies"], **description["modules"]}.items():
        for statistics in record.get("filters", []):
            body += _filter(name, statistics)
    for name, acting in checkpoint.acting.items():
        body += _weights(name, acting.weights)
    if shown["problems"] or shown["skipped"]:
        body += ["<h2>Missing or not read</h2>", _facts(problem_lines(shown))]
    if shown["unsafe"]:
        calls = [(call["name"], f"{call['what']}, in {call['where']}") for call in shown["unsafe"]]
        body += ["<h2>Programs that an ordinary unpickler would run</h2>", _facts(calls)]
    steps = [(step["purpose"], step["command"]) for step in shown["next"]]
    commands = [(why, Markup(f"<code>{escape(line)}</code>")) for why, line in steps]
    body += ["<h2>What to do next</h2>", facts(commands)]
    return document(f"{title_of(shown)}: {shown['path']}", body)


def _facts(lines: Iterable[tuple[Any, Any]]) -> str:
    return facts((label, value) for label, value in lines if value)


def _pieces(checkpoint: Checkpoint, name: str, record: Mapping[str, Any]) -> list[str]:
    """The way of an observation, as far as the checkpoint names connectors, and its adapters."""
    before, behind = _pipelines(checkpoint, name)
    if not before and not behind:
        return []
    bound = [_adapter(checkpoint, name, piece) for piece in (*before, *behind)]
    adapters = [adapter for adapter in bound if adapter is not None]
    sees, gives = (
        record[space] or {"text": "lost"} for space in ("observation_space", "action_space")
    )
    boxes = [
        ("environment", sees["text"]),
        *((piece_name(piece.name), "") for piece in before),
        ("network", record["network"]),
        *((piece_name(piece.name), "") for piece in behind),
        ("environment", gives["text"]),
    ]
    for each in adapters:
        if each.chain.action:
            boxes[-1] = ("environment", short_space(each.action_space))
    for each in reversed(adapters):
        if each.chain.obs:
            boxes[0] = ("environment", short_space(each.env_observation_space))
    cards = [f"<div class=card>{flow(boxes)}</div>"]
    return cards + [
        f"<div class=card><h3>What adapts it</h3>{drawn(adapter)}</div>" for adapter in adapters
    ]


def _pipelines(checkpoint: Checkpoint, name: str) -> tuple[list[ConnectorRecord], ...]:
    """The pieces before the network of a policy or module, and those behind it."""
    record = checkpoint.policies.get(name)
    if record is not None:
        pipelines = (record.agent_connectors, record.action_connectors)
        return tuple([*pipeline.flat()] if pipeline else [] for pipeline in pipelines)
    places = ("env_to_module_connector", "module_to_env_connector")
    by_place = {part.path.rpartition("/")[2]: part.pieces for part in checkpoint.components}
    return tuple([*by_place.get(place, ())] for place in places)


def _adapter(checkpoint: Checkpoint, name: str, piece: ConnectorRecord) -> BoundChain | None:
    """An adapter with its spaces; None of a piece that is none, or cannot be read."""
    params = piece.params
    if not isinstance(params, Mapping) or "chain" not in params:
        return None
    record = checkpoint.acting[name]
    pipelines = [part.kwargs for part in checkpoint.components if piece in part.pieces]
    try:
        chain = AdapterChain.from_data(params["chain"])
        if "Actions" in piece.name:
            half = AdapterChain(action=chain.action)
            space = _space(params.get("policy_action_space")) or record.action_space
        else:
            half = AdapterChain(obs=chain.obs, reward=chain.reward, agents=chain.agents)
            space = _space(params.get("observation_space"))
            if space is None and pipelines:
                space = _space(pipelines[0].get("input_observation_space"))
        return None if space is None else half.bind(space, space)
    except (RlconnectError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError):
        return None


def _space(saved: Any) -> Space[Any] | None:
    """A space as a connector of the old stack keeps it, or as a pipeline of the new one does."""
    if saved is None:
        return None
    return space_from_data(saved) if isinstance(saved, Mapping) else space_in(saved)


def _filter(policy: str, statistics: Mapping[str, Any]) -> list[str]:
    """What a filter has seen: a line for each feature, from one deviation below to one above."""
    if not statistics["count"]:
        return []
    means, spreads = (
        np.concatenate([np.ravel(leaf) for leaf in statistics[part]]).astype(float)
        for part in ("mean", "std")
    )
    rows = [
        (f"feature {place}", mean, mean - spread, mean + spread, True)
        for place, (mean, spread) in enumerate(zip(means, spreads, strict=True))
        if np.isfinite(mean) and np.isfinite(spread)
    ]
    shown = rows[:_MOST_FEATURES]
    if not shown:
        return []
    more = f"; the first {len(shown)} of {len(means)} features" if len(shown) < len(means) else ""
    label = f"{statistics['kind']} of {policy}"
    return [
        f"<h2>{escape(label)}</h2>",
        f"<p class=soft>Mean and standard deviation over {max(statistics['count']):,} observations"
        f"{escape(more)}.</p>",
        f"<div class=card>{interval_rows(shown, 0.0, label, 'value of a feature')}</div>",
    ]


def _weights(policy: str, weights: Any) -> list[str]:
    """How the numbers of each array are spread."""
    charts = []
    names = [*weights]
    for name in names[:_MOST_ARRAYS]:
        shape, _ = weights.describe(name)
        array = weights[name]
        if array.dtype.kind not in "fiu" or not array.size:
            continue
        numbers = array.astype(np.float64).ravel()
        finite = numbers[np.isfinite(numbers)]
        size = "×".join(map(str, shape)) or "scalar"
        lost = numbers.size - finite.size
        note = f"<p class=finding>{lost:,} not finite</p>" if lost else ""
        drawn = _histogram(finite, name) if finite.size else ""
        charts.append(
            f"<div class=card><h3>{escape(name)} <span class=soft>{size}</span></h3>"
            f"{drawn}{note}</div>"
        )
    if not charts:
        return []
    more = len(names) - _MOST_ARRAYS
    rest = [f"<p class=soft>and {more} more</p>"] if more > 0 else []
    return [
        f"<h2>Weights of {escape(policy)}</h2>",
        f'<div class="grid">{"".join(charts)}</div>',
        *rest,
    ]


def _histogram(numbers: Any, name: str) -> str:
    counts, edges = np.histogram(numbers, bins=_BINS)
    ends = {0: f"{edges[0]:.2g}", _BINS - 1: f"{edges[-1]:.2g}"}
    across = f"mean {numbers.mean():.2g}, deviation {numbers.std():.2g}"
    titles = [
        f"{count} from {low:.3g} to {high:.3g}"
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    labels = [ends.get(place, "") for place in range(_BINS)]
    return bars(counts.tolist(), labels, titles, f"Numbers of {name}", across)
