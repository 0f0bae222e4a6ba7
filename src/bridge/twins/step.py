"""One step of a migration: one piece of an old policy, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ...core.data.checked import mapping
from ...core.data.damage import at
from .twin import Kind, Twin

Side = Literal["agent", "network", "action"]


@dataclass
class MigrationStep:
    """A piece of the source, and what becomes of it.

    Args:
        name: Unique in its plan: the piece's class, numbered where there are several.
        side: Before the network, the network, or after it.
        place: Which of its side's pieces it is.
        twin: What becomes of it.
        is_builtin: Whether the piece is the old stack's own.
        is_applied: Whether the native piece stands there now.
        differed: What differed when the native piece was tried; it was taken back then.
        proof: How the mixture after this step compares with the source, as plain data.
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
        """What becomes of the piece; wrapped where its native twin gave other numbers."""
        return "wrapped" if self.differed else self.twin.kind

    @property
    def is_native(self) -> bool:
        """Whether a native piece can stand there, as far as is known."""
        return self.twin.is_native and not self.differed

    @property
    def reason(self) -> str:
        """Why."""
        return self.differed or self.twin.reason

    def to_data(self) -> dict[str, Any]:
        """What a later process cannot find out again."""
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
        """Go on from what `to_data` gave."""
        self.is_applied = bool(data["is_applied"])
        self.differed = str(data["differed"])
        self.proof = proof_from(data["proof"])

    def __str__(self) -> str:
        mark = "x" if self.is_applied else " "
        head = f"[{mark}] {self.name}: {_WORDS[self.kind]}"
        if self.kind == "native":
            head += f" {self.twin.text}"
        lines = [head, f"      {self.reason}"]
        if self.proof:
            lines.append(f"      {self.proof['words']}")
        lines += [f"      | {line}" for line in self.twin.snippet.splitlines()]
        return "\n".join(lines)


_WORDS = {
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
