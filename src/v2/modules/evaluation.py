"""The evaluation mode of a module while it acts, whoever acts with it at the same time."""

from __future__ import annotations

from typing import Any

from torch import nn

from ...core.runtime.sharing import Turn


class Evaluation:
    """Layers in evaluation mode as long as some thread acts; the last one puts the mode back.

    Example:
        >>> layer, evaluation = nn.Dropout(), Evaluation()
        >>> evaluation.enter(layer), evaluation.enter(layer), layer.training
        (True, True, False)
        >>> evaluation.leave()
        >>> layer.training
        False
        >>> evaluation.leave()
        >>> layer.training
        True
    """

    __slots__ = ("_inside", "_switched", "_turn")

    def __init__(self) -> None:
        self._turn = Turn()
        self._inside = 0
        self._switched: list[nn.Module] = []

    def __reduce__(self) -> Any:
        """A copy of a module is in nobody's use."""
        return type(self), ()

    def enter(self, module: nn.Module) -> bool:
        """See to evaluation mode; whether that takes a `leave` afterwards."""
        with self._turn:
            if not self._inside:
                training = _layers_in_training(module)
                if not training:
                    return False
                self._switched = training
                if all(_is_plain(type(layer)) for layer in training):
                    for layer in training:  # what eval() does, without a module's costly setattr
                        vars(layer)["training"] = False
                else:
                    module.eval()
            self._inside += 1
            return True

    def leave(self) -> None:
        """Let layers train again that did, if nobody else acts."""
        with self._turn:
            self._inside -= 1
            if not self._inside:
                for layer in self._switched:
                    vars(layer)["training"] = True
                self._switched = []


def _layers_in_training(module: nn.Module) -> list[nn.Module]:
    """All layers in training mode; `modules()` takes ten times as long to walk them."""
    layers: list[nn.Module] = [module]
    for layer in layers:  # grows on the way
        for below in layer._modules.values():
            if below is not None:
                layers.append(below)  # A generator for each takes longer.
    return [layer for layer in layers if layer.training]


def _is_plain(kind: type[nn.Module]) -> bool:
    """Whether changing its mode is changing a flag."""
    return kind.train is nn.Module.train and kind.eval is nn.Module.eval
