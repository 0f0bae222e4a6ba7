"""A drawing that a notebook shows and that can be kept as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import array_namespace as xp
from .. import nest
from ..arrays.batching import batch
from ..text.visible import visible_html as escape
from .document import document, flow, inside, table


class Figure:
    """Boxes joined by arrows, under a title.

    Notebooks show it by themselves. `page()` is a whole HTML page, to be written to a file.

    A box is a title and a line of detail, `between` is said on the arrow behind each; `note` stands
    below the title, `below` is HTML below the boxes.

    Example:
        >>> figure = Figure("a pipeline", [("Clip", "together"), ("Scale", "alone")], ["(3,)"])
        >>> figure
        <Figure 'a pipeline': Clip -> Scale>
        >>> figure.page()[:15]
        '<!doctype html>'
    """

    def __init__(
        self,
        title: str,
        boxes: Sequence[tuple[str, str]],
        between: Sequence[str] = (),
        note: str = "",
        below: str = "",
    ) -> None:
        self.title = title
        self.boxes = [*boxes]
        self.between = [*between]
        self.note = note
        self.below = below

    def __repr__(self) -> str:
        return f"<Figure {self.title!r}: {' -> '.join(name for name, _ in self.boxes)}>"

    def _repr_html_(self) -> str:
        return inside(f"<b>{escape(self.title)}</b> {escape(self.note)}<br>{self._drawn()}")

    def page(self) -> str:
        """The drawing as a page that needs nothing else."""
        body = [f"<h1>{escape(self.title)}</h1>", f"<p class=soft>{escape(self.note)}</p>"]
        return document(self.title, [*body, f"<div class=card>{self._drawn()}</div>"])

    def _drawn(self) -> str:
        return flow(self.boxes, self.between) + self.below


_HEADS = ("column", "rows", "of each", "lowest", "mean", "highest")


def columns_html(title: str, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Columns by agent or policy as a table for a notebook, and rewards as a curve."""
    from .charts import curves  # which few drawings need

    body = [f"<b>{escape(title)}</b>"]
    for name, columns in parts.items():
        body += [f"<br>{escape(name)}"] * bool(name)
        rows = [row for key, column in columns.items() for row in _rows(str(key), column)]
        body.append(table(_HEADS, rows))
        rewards = columns.get("rewards")
        if rewards is not None and len(rewards) > 1 and nest.is_leaf(xp.to_numpy(rewards)[0]):
            values = xp.to_numpy(rewards).reshape(len(rewards), -1)[:, 0].astype(float)
            steps = [float(place) for place in range(1, len(values) + 1)]
            body.append(
                curves([("rewards", steps, values.tolist())], "rewards", "rewards", "steps")
            )
    return inside("".join(body))


def _rows(name: str, column: Any) -> Iterator[tuple[str, ...]]:
    try:
        leaves = nest.flatten_with_path(batch(column) if type(column) is list else column)
        arrays = [(path, xp.to_numpy(leaf)) for path, leaf in leaves]
    except (TypeError, ValueError):  # items that are no numbers, or unlike each other
        arrays = []
    if len(arrays) > 24 or not arrays:
        yield name, f"{len(column):,}", "", "", "", ""
        return
    for path, array in arrays:
        full = ".".join(map(str, (name, *path)))
        item = " ".join([*([str(array.shape[1:])] if array.ndim > 1 else []), str(array.dtype)])
        finite = array[np.isfinite(array)] if array.dtype.kind in "iufb" else np.zeros(0)
        numbers = (finite.min(), finite.mean(), finite.max()) if finite.size else ()
        statistics = [f"{number:.4g}" for number in numbers] or [""] * 3
        yield full, f"{len(array):,}" if array.ndim else "", item, *statistics
