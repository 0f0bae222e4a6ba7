"""New-stack equivalent of an old piece, and the migration step that introduces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from ...core.data.checked import mapping
from ...core.data.damage import at
from ...core.errors import PieceError
from ...legacy.connectors.registry import BUILT_INS
from ...v2.connectors.connector import ConnectorV2

Kind = Literal["native", "gone", "wrapped", "code"]
"""A native piece takes over; nothing has to; the old piece stays, wrapped; so it does, and only
its author can write the native one."""


@dataclass(frozen=True)
class Twin:
    """The new-stack equivalent of one piece.

    Args:
        kind: See `Kind`.
        reason: The reason, as text.
        text: The native piece with its settings, or its replacement.
        make: Builds the native pieces; empty if none are needed.
        learner: Builds native pieces for the start of the learner pipeline.
        snippet: Code to complete, if custom code is required.
    """

    kind: Kind
    reason: str
    text: str = ""
    make: Callable[[], list[Any]] = list
    learner: Callable[[], list[Any]] = list
    snippet: str = ""

    @property
    def is_native(self) -> bool:
        """Whether the old piece can go."""
        return self.kind in ("native", "gone")


def native(text: str, make: Callable[[], list[Any]], reason: str) -> Twin:
    """A piece of V2's takes over."""
    return Twin("native", reason, text, make)


def gone(reason: str, text: str = "-") -> Twin:
    """Nothing has to take over."""
    return Twin("gone", reason, text)


def wrapped(reason: str) -> Twin:
    """The old piece stays, wrapped."""
    return Twin("wrapped", reason, "the old piece, wrapped")


@dataclass(frozen=True)
class Refusal:
    """The reason why a piece is not replaced."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class NoTwin(Exception):  # carries a refusal between our own functions only
    """A network has no native twin; only ever seen inside this package."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason)


def agent_snippet(name: str) -> str:
    """A native piece on observations, to be filled in with what a connector's function does."""
    return f'''from rlconnect.bridge import register_twin
from rlconnect.v2 import SingleAgentObservationPreprocessor

class {_class_name(name)}(SingleAgentObservationPreprocessor):
    """What {name} did to data["obs"] and data["new_obs"]."""

    def recompute_output_observation_space(self, input_observation_space, input_action_space):
        return input_observation_space  # fill in, if the space changes

    def preprocess(self, observation, episode):
        return observation  # fill in

register_twin({name!r}, {_class_name(name)})'''


def action_snippet(name: str) -> str:
    """A native piece on actions, to be filled in with what a connector's function does."""
    return f'''from rlconnect.bridge import register_twin
from rlconnect.v2 import ConnectorV2

class {_class_name(name)}(ConnectorV2):
    """What {name} did to actions."""

    def __call__(self, *, batch, **kwargs):
        column = "actions_for_env" if "actions_for_env" in batch else "actions"
        batch["actions_for_env"] = {{
            key: [self.change(action) for action in items] for key, items in batch[column].items()
        }}
        return batch

    def change(self, action):
        return action  # fill in

register_twin({name!r}, {_class_name(name)})'''


def network_snippet(name: str) -> str:
    """A native module, to be filled in with what an author's network computes."""
    return f'''from rlconnect.v2 import TorchRLModule, ValueFunctionAPI

class {_class_name(name)}Module(TorchRLModule, ValueFunctionAPI):
    """What {name} computed."""

    def setup(self):
        ...  # fill in: the layers

    def _forward(self, batch, **kwargs):
        return {{"action_dist_inputs": ...}}  # fill in

    def compute_values(self, batch, embeddings=None):
        ...  # fill in'''


def _class_name(name: str) -> str:
    return "".join(part if part.isidentifier() else "_" for part in name) or "Piece"


class _Word(NamedTuple):
    piece: type[ConnectorV2]
    settings: Callable[[Any], Mapping[str, Any]] | None


_WORDS: Final[dict[str, _Word]] = {}


def register_twin(
    connector: str | type,
    piece: type[ConnectorV2],
    settings: Callable[[Any], Mapping[str, Any]] | None = None,
) -> None:
    """Register the new-stack equivalent of a custom connector, for migrations.

    The step is proven equal like any other, and taken back where it is not. Whoever loads what was
    migrated needs the class of the piece: `@rlconnect.trust`, or `trust=[...]`.

    Args:
        connector: The old connector's class, or the name of it.
        piece: The class that takes over; registered again, the last one counts.
        settings: From the old connector to the piece's settings; it has none if left out.

    Raises:
        PieceError: The connector is the library's, or the piece is no ConnectorV2.

    Example:
        >>> from rlconnect.v2 import SingleAgentObservationPreprocessor
        >>> class Halve(SingleAgentObservationPreprocessor):
        ...     def preprocess(self, observation, episode):
        ...         return observation / 2
        >>> register_twin("HalveAgentConnector", Halve)
    """
    name = connector if isinstance(connector, str) else connector.__name__
    if name in BUILT_INS:
        raise PieceError(
            "what takes over from a connector of the library's is known",
            expected="a custom connector",
            found=name,
        )
    if not (isinstance(piece, type) and issubclass(piece, ConnectorV2)):
        raise PieceError(
            f"what takes over from {name}",
            expected="a class derived from ConnectorV2",
            found=repr(piece),
        )
    _WORDS[name] = _Word(piece, settings)


def twin_of_own(connector: Any, snippet: Callable[[str], str]) -> Twin:
    """Return the equivalent of a custom connector."""
    name = type(connector).__name__
    word = _WORDS.get(name)
    if word is None:
        return Twin(
            "code",
            f"{name} is its author's own: only they know what it means",
            "the old piece, wrapped",
            snippet=snippet(name),
        )
    settings = {} if word.settings is None else dict(word.settings(connector))
    words = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return native(
        f"{word.piece.__name__}({words})", lambda: [word.piece(**settings)], "its author's word"
    )


Side = Literal["agent", "network", "action"]


@dataclass
class MigrationStep:
    """A piece of the source, and its new-stack equivalent.

    Args:
        name: Unique in its plan: the piece's class, numbered where there are several.
        side: Before the network, the network, or after it.
        place: Which of its side's pieces it is.
        twin: Its equivalent.
        is_builtin: Whether it is a built-in piece of the old stack.
        is_applied: Whether the native piece is in use now.
        differed: What differed when the native piece was tried, so that it was undone.
        proof: Comparison of the mixture after this step with the source, as plain data.
    """

    name: str
    side: Side
    place: int
    twin: Twin
    is_builtin: bool = True
    is_applied: bool = False
    differed: str = ""
    proof: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """The kind of the equivalent; wrapped if the native piece changed the numbers."""
        return "wrapped" if self.differed else self.twin.kind

    @property
    def is_native(self) -> bool:
        """Whether a native piece is possible, as far as is known."""
        return self.twin.is_native and not self.differed

    @property
    def reason(self) -> str:
        """Why."""
        return self.differed or self.twin.reason

    def to_data(self) -> dict[str, Any]:
        """Return what cannot be computed again when the plan is loaded."""
        return {
            "name": self.name,
            "kind": self.kind,
            "becomes": self.twin.text,
            "reason": self.reason,
            "is_applied": self.is_applied,
            "differed": self.differed,
            "proof": self.proof,
        }

    def take(self, data: dict[str, Any]) -> None:
        """Load a state saved by `to_data`."""
        self.is_applied = bool(data["is_applied"])
        self.differed = str(data["differed"])
        self.proof = proof_from(data["proof"])

    def __str__(self) -> str:
        mark = "x" if self.is_applied else " "
        head = f"[{mark}] {self.name}: {_IN_WORDS[self.kind]}"
        if self.kind == "native":
            head += f" {self.twin.text}"
        lines = [head, f"      {self.reason}"]
        if self.proof:
            lines.append(f"      {self.proof['words']}")
        lines += [f"      | {line}" for line in self.twin.snippet.splitlines()]
        return "\n".join(lines)


_IN_WORDS = {
    "native": "becomes",
    "gone": "goes",
    "wrapped": "stays, wrapped",
    "code": "needs your code",
}


def proof_from(data: Any) -> dict[str, Any]:
    """A proof as `Verdict.summary` gave it, empty where there was none."""
    with at("proof"):
        proof = dict(mapping(data))
        if proof:
            proof["words"] = str(proof["words"])
            proof["is_equal"] = bool(proof["is_equal"])
        return proof
