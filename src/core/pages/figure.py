"""A drawing that a notebook shows and that can be kept as a page."""

from __future__ import annotations

from collections.abc import Sequence

from ..text.visible import visible_html as escape
from .document import document, flow, inside


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
