"""The plan of a policy that is of the new stack already: nothing is left to do."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import override

from ...core.errors import PieceError
from ...legacy.policy.certificate import certificate_by
from ...v2.connectors.connector import ConnectorV2
from ..proof.v2_stages import V2Stages
from ..proof.verdict import Verdict
from ..proof.verify import verify
from ..triple import V2Triple
from .plan import MigrationPlan
from .saved_plan import NATIVE


@dataclass(frozen=True)
class Described:
    """The properties of a policy that the report of a plan shows.

    Args:
        name: Its id.
        algorithm: The class of its module, as recorded in the checkpoint.
        action_space: The action space of the environment.
        config: The training config, which is unknown.
    """

    name: str
    algorithm: str
    action_space: Any
    config: Mapping[str, Any] = field(default_factory=dict)


class NativePlan(MigrationPlan):
    """A migration without steps, which writes the same policy with a certificate.

    `custom` are the custom classes that it needs. `migration` is the metadata of the migrated
    folder that it was loaded from, if any.
    """

    def __init__(
        self,
        triple: V2Triple,
        *,
        source: str = "",
        custom: Mapping[str, Any] | None = None,
        migration: Mapping[str, Any] | None = None,
    ) -> None:
        notes = migration or triple.migration
        self.native = triple.with_pipelines()
        self.source = source
        self.custom = dict(custom or {})
        self.observation_space = self.native.observation_space
        self.proofs = {"samples": 8, "length": 3, "seed": 0, "absolute": 1e-5, "relative": 1e-5}
        self.module = self.native.module
        self.policy: Any = Described(
            triple.name, type(triple.module).__name__, self.native.action_space
        )
        self.training = dict(notes.get("training") or {})
        self.graft = notes.get("graft")
        self.steps = []
        self.proof = {}
        self.met = []
        self.history = []
        self.origin = {}
        self.written = None

    @property
    @override
    def explore(self) -> bool:
        """Whether the policy explores by default."""
        return self.native.explore

    @override
    def triple(self) -> V2Triple:
        """A copy of the policy."""
        return copy.deepcopy(self.native)

    @override
    def learner_pieces(self) -> list[ConnectorV2]:
        """None: what learning needs in front is the old stack's."""
        return []

    @override
    def apply(self, until: str | int | None = None) -> MigrationPlan:
        """Do nothing, but look whether a copy does the same."""
        if until is not None:
            self._place(until)
        self.proof = self.verify().summary()
        return self

    @override
    def verify(self, **options: Any) -> Verdict:
        """Compare a copy with the policy; options as of `verify`."""
        return verify(self.triple(), self.native, **{**self.proofs, **options})

    @override
    def prove_on(self, **options: Any) -> MigrationPlan:
        """Take how many observations are drawn; there is no step to prove on others."""
        for name in ("samples", "seed"):
            if options.get(name) is not None:
                self.proofs[name] = options[name]
        return self

    @override
    def certificate(self) -> dict[str, Any]:
        """Return the outputs of the policy for a few random observations."""
        return certificate_by(lambda: V2Stages(self.triple()), self.observation_space)

    @override
    def keep_source(self, folder: Path) -> str:
        """Keep nothing: what is written is the policy itself."""
        return ""

    @override
    def save(self, path: Any) -> None:
        """Raise an error: there is no plan to save."""
        raise PieceError(
            "a policy of the new stack has no plan to save",
            hint="write the policy itself: migrate(PATH, out=DIR).",
        )

    @override
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        grown = {} if self.graft is None else {"graft": self.graft}
        return {**super().to_dict(), "kind": NATIVE, **grown}

    def __str__(self) -> str:
        head = f"{self.policy.algorithm} {self.policy.name}: of the new stack already"
        return "\n".join([head, *self.ways_on()])
