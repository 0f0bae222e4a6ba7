"""A network as data: layers by the names of their weights, and what is computed from them.

`description` is the data, `kinds` what a layer may be. `binding` holds a description to weights
and to the shapes of what goes in; from that `arrays` makes a forward pass in numpy and `tensors` a
torch module. `files` reads and writes descriptions, `proposal` guesses one from names and shapes,
`evidence` lets recorded outputs decide between guesses.
"""

from typing import TYPE_CHECKING

from ..importing.lazy_names import lazy_names

if TYPE_CHECKING:
    from .binding import BoundNetwork, bind
    from .description import Layer, Network, network_of

__all__ = ["BoundNetwork", "Layer", "Network", "bind", "network_of"]

_LAZY = {
    "BoundNetwork": ".binding",
    "Layer": ".description",
    "Network": ".description",
    "bind": ".binding",
    "network_of": ".description",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _LAZY)
