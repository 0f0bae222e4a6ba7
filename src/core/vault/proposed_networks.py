"""Networks proposed for records whose code is not here; recorded outputs beside them decide."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..data.toml import toml_value
from ..errors import RlconnectError
from ..nets.description import Network, network_of
from ..nets.evidence import Decision, Records, decide
from ..nets.facts import facts_of
from ..nets.files import toml_text
from ..nets.proposal import propose
from ..nets.setting import NETWORK
from ..nets.units import units_of
from .files.remote import is_url
from .recorded_outputs import records_beside
from .records.records import Checkpoint, ModuleRecord, PolicyRecord
from .verdict import own_class

_MOST_WEIGHTS: Final = 2_000

Record = PolicyRecord | ModuleRecord


@dataclass(frozen=True)
class Proposed:
    """A network that may be a policy's, with its comments by layer and on the whole (`head`).

    The activation of layers in `guessed` is a guess. `decision` is what recorded outputs, which lie
    at `records`, say of it; None without any.
    """

    network: Network
    comments: Mapping[str, str]
    guessed: tuple[str, ...]
    head: str
    decision: Decision | None = None
    records: str = ""

    @property
    def is_proven(self) -> bool:
        """True if the network reproduces all recorded outputs."""
        decision = self.decision
        return decision is not None and len(decision.decided) == len(decision.errors)

    def toml(self) -> str:
        """The file to edit."""
        reason = "" if self.decision is None else f"\n{self.decision}\n({self.records})"
        return toml_text(self.network, self.comments, self.head + reason)


def needs_network(record: Record) -> bool:
    """True if a record's network is its author's own class, and has no description."""
    return bool(record.weights) and bool(own_class(record)) and NETWORK not in record.model_config


def proposed_network(
    record: Record, records: Sequence[Records] = (), *, is_given: bool = False
) -> Proposed | None:
    """The network that names and shapes of a record's weights suggest.

    Recorded outputs decide what names and shapes do not: those that surely are the policy's, and
    others if a network gives them again. None where no order of layers fits.
    """
    if len(record.weights) > _MOST_WEIGHTS or not record.weights.named:
        return None
    with suppress(RlconnectError):  # weights that cannot be read, spaces without a shape
        described = record.model_config.get(NETWORK)
        if described is not None:
            return Proposed(network_of(described), {}, (), "The network that is described already.")
        return _proposed(record, records, is_given)
    return None


def _proposed(record: Record, records: Sequence[Records], given: bool) -> Proposed | None:
    weights = dict(record.weights)
    space, algorithm, settings = record.observation_space, "", record.model_config
    if isinstance(record, PolicyRecord):
        space, algorithm = record.environment_space, record.algorithm
        actor = record.config.get("policy_model_config")
        if any(name.startswith("action_model.") for name in record.weights):  # SAC's
            actor_settings = actor if isinstance(actor, Mapping) else {}
            settings = {**settings, "fcnet_activation": "relu", **actor_settings}
    facts = facts_of(weights, space, record.action_space, settings, algorithm=algorithm)
    proposal = propose(facts)
    if proposal is None:
        return None
    proposed = Proposed(proposal.network, proposal.comments, proposal.guessed, proposal.head)
    for each in records:
        decision = decide(proposal, facts, weights, each)
        if decision is None:
            continue
        proven = len(decision.decided) == len(decision.errors)
        if not (proven or given):
            continue
        proposed = Proposed(
            decision.network,
            {} if proven else proposal.comments,
            () if proven else proposal.guessed,
            "Proposed from names and shapes of weights, and from recorded outputs:",
            decision,
            each.path,
        )
        if proven:
            break
    return proposed


def records_near(checkpoint: Checkpoint) -> list[Records]:
    """Recorded outputs among the files of a checkpoint, and of the folder it lies in."""
    if is_url(checkpoint.path):
        return []
    place = Path(checkpoint.path)
    folder = place if os.path.isdir(place) else place.parent
    return [recorded for near in (folder, folder.parent) for recorded in records_beside(near)]


def layers_in_order_of_the_file(record: Record) -> str:
    """A file of all layers, for the user to put in order, where no order fits."""
    units, rest = units_of({name: record.weights.describe(name)[0] for name in record.weights})
    lines = [
        "# Names and shapes of the weights fit no chain of layers that is known. These are the",
        "# layers in the order of the file: put them in the order they are computed, say what",
        "# goes in (`input`) and what stands behind (`activation`).",
        "",
    ]
    if rest:
        lines += [f"unused = {toml_value(rest)}", ""]
    for unit in units:
        size = f"{unit.ins} -> {unit.outs}" if unit.outs else str(unit.ins)
        lines += [f"# {size}", "[[layers]]", f"{unit.kind} = {toml_value(unit.prefix)}", ""]
    lines += ["[outputs]", "# which layers they are:", '# logits = "..."', '# value = "..."']
    return "\n".join(lines) + "\n"
