"""Policies in a checkpoint of any kind, by id, in the classes of their stack."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from gymnasium.spaces import Space

from ...core.data.budget import one_load
from ...core.data.keys import table_of
from ...core.errors import (
    CheckpointNotFoundError,
    NotACheckpointError,
    PieceError,
    ProgramNotAllowedError,
    RlconnectError,
)
from ...core.importing.torch_needed import torch_needed
from ...core.text.shell import command
from ...core.vault import open_checkpoint
from ...core.vault.chosen import chosen
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import ACTOR_FILE, MIGRATION_FILE
from ...core.vault.files.json_text import format_json
from ...core.vault.files.places import named, on_disk
from ...core.vault.files.reading import entries
from ...core.vault.opening import of_newest
from ...core.vault.own.document import encode
from ...core.vault.players import FORMAT, saved_players
from ...core.vault.save_manifest import of_one_save
from ...legacy.connectors.adapted import acted_space, seen_space
from ...legacy.policy.policy import Policy
from ..exported.files import program_in
from ..triple import V2Triple, is_triple
from .mapping import PolicyMapping
from .options import check_known, legacy_options, module_options, words_of
from .triple_places import has_pipelines

Native: TypeAlias = Any
"""A `Policy`, a `V2Triple`, or an exported `Artifact`."""


_PIECES: Final = ("ray.rllib.connectors.", "rlconnect.v2.")
"""Modules of piece classes, as named in files."""


@dataclass(frozen=True)
class Natives:
    """The policies of a checkpoint.

    Args:
        policies: The policies by id.
        mapping: The mapping from agents to policies, if the checkpoint contains it.
        parts: The pipelines of a checkpoint without policies, by name.
        path: The path it was loaded from, if any.
    """

    policies: Mapping[str, Native]
    mapping: PolicyMapping = None
    parts: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""

    @property
    def only(self) -> Native:
        """The only policy."""
        if len(self.policies) == 1:
            return next(iter(self.policies.values()))
        where = f"{self.path} holds" if self.path else "these are"
        if not self.policies:
            raise PieceError(
                f"{where} no policy",
                found=", ".join(self.parts),
                hint="its contents are in `rlconnect.load(path).parts`.",
            )
        raise PieceError(
            f"{where} {len(self.policies)} policies",
            expected="one",
            found=", ".join(map(repr, self.policies)),
            hint="name one: load(path, ID), policies[ID], or policy=ID; in a terminal --policy ID.",
        )


class HasNatives(Protocol):
    """Something with policies: a result of `rlconnect.load`, an actor, a migration plan."""

    @property
    def natives(self) -> Natives:
        """The policies in their current state."""


Source: TypeAlias = (
    str
    | os.PathLike[str]
    | Policy
    | V2Triple
    | HasNatives
    | Natives
    | Mapping[str, Any]
    | Sequence[Any]
)
"""Accepted sources: a path or URL, a policy of either stack, several by id, or a container."""


def natives_in(
    path: str | os.PathLike[str],
    policy_ids: Sequence[str] | str | None = None,
    *,
    policy_mapping_fn: PolicyMapping = None,
    allow_program: bool = False,
    **options: Any,
) -> Natives:
    """Load the policies at a path without executing code from its files.

    It may be whatever RLlib or rlconnect wrote: a folder, a file, an archive of one, or a URL.
    An exported program is code; it is loaded only with `allow_program=True`, and only if there is
    no checkpoint next to it.
    `policy_mapping_fn` says which of several modules plays an agent, where code knew it. Options
    are those of `Policy.from_checkpoint` or `RLModule.from_checkpoint`.
    """
    check_known(options)
    ids = [policy_ids] if isinstance(policy_ids, str) else policy_ids
    with (
        one_load(),
        torch_needed("the module in this checkpoint"),
        on_disk(path, limits_in_force()) as place,
    ):
        program = program_in(place)
        if program is not None and not os.path.isdir(place):
            natives = _program(program, ids, allow_program)
        else:
            try:
                natives = of_newest(
                    place, lambda folder: _in_folder(folder, ids, policy_mapping_fn, options)
                )
            except (NotACheckpointError, CheckpointNotFoundError):
                if program is None:
                    raise
                natives = _program(program, ids, allow_program)
    return replace(natives, path=named(path))


def natives_of(
    source: Any, policy_ids: Sequence[str] | str | None = None, **options: Any
) -> Natives:
    """Return the policies of any supported source.

    Sources are a path or URL, a result of `rlconnect.load`, a `Policy`, a `V2Triple` or its three
    parts, a mapping of these by id, an `Actor`, a loaded `Artifact`, or a migration plan. Options
    are those of `natives_in`, for a path.
    """
    if isinstance(source, (str, os.PathLike)):
        return natives_in(source, policy_ids, **options)
    ids = [policy_ids] if isinstance(policy_ids, str) else policy_ids
    natives = _natives_behind(source)
    return replace(
        natives,
        policies=chosen(dict(natives.policies), ids, natives.path or "the source"),
        mapping=options.get("policy_mapping_fn") or natives.mapping,
    )


def _natives_behind(source: Any) -> Natives:
    if isinstance(source, Natives):
        return source
    natives = getattr(source, "natives", None)
    if isinstance(natives, Natives):
        return natives
    if isinstance(source, Policy):
        return Natives({source.name: source})
    if is_triple(source):
        triple = V2Triple.of(source)
        return Natives({triple.name: triple})
    if isinstance(source, Mapping) and source:
        return Natives({str(name): _natives_behind(native).only for name, native in source.items()})
    if hasattr(source, "manifest") and hasattr(source, "name"):
        return Natives({source.name: source})
    raise PieceError(
        "this is no policy",
        expected="a path, what rlconnect.load gives, a Policy, or "
        "(env_to_module, module, module_to_env)",
        found=type(source).__name__,
    )


def policy_spaces(policy: Any) -> tuple[Space[Any], Space[Any]]:
    """Return both spaces of a policy; for an adapted one, those of the new environment."""
    if is_triple(policy):
        triple = V2Triple.of(policy)
        return triple.observation_space, triple.action_space
    return seen_space(policy), acted_space(policy)


def source_of(player: Any) -> Native:
    """Return the policy that a player was created from, in its current state."""
    native: Any = getattr(player, "triple", getattr(player, "policy", None))
    return replace(native, timestep=player.timestep) if isinstance(native, V2Triple) else native


@of_one_save
def _in_folder(
    path: Path, ids: Sequence[str] | None, mapping: PolicyMapping, options: Mapping[str, Any]
) -> Natives:
    several = saved_players(path, ids)
    if several is not None:
        folders, content = several
        players = {
            name: next(iter(_in_folder(folder, None, mapping, options).policies.values()))
            for name, folder in folders.items()
        }
        return Natives(players, mapping or mapping_of(content))
    if os.path.isfile(Path(path, MIGRATION_FILE)):
        from .triples import migrated_in

        migrated = migrated_in(path, words_of(options))
        return Natives(chosen({migrated.name: migrated}, ids, path), mapping)
    if has_pipelines(path):  # an algorithm's, a runner's, or a saved actor's
        return Natives(_triples(path, ids, mapping, options), mapping)
    checkpoint = open_checkpoint(path)
    if checkpoint.policies or checkpoint.stack == "old":
        loaded = Policy.from_checkpoint(checkpoint, ids, **legacy_options(options))
        policies = loaded if isinstance(loaded, dict) else {loaded.name: loaded}
        return Natives(policies, mapping or mapping_of(checkpoint.extra))
    if checkpoint.modules:
        del checkpoint  # The weights are read again; release the first copy.
        return Natives(_triples(path, ids, mapping, options), mapping)
    return Natives({}, parts=_parts(checkpoint, module_options(options)))


def _triples(
    path: Path, ids: Sequence[str] | None, mapping: PolicyMapping, options: Mapping[str, Any]
) -> dict[str, V2Triple]:
    from .triples import triples_in  # imports the new stack, which old policies do not need

    return triples_in(path, ids, mapping, module_options(options))


def _program(path: Path, ids: Sequence[str] | None, is_allowed: bool) -> Natives:
    if not is_allowed:
        raise ProgramNotAllowedError(
            f"{path} is an exported program, and a program is code",
            hint="if you trust its source: rlconnect.load(path, allow_program=True), in a terminal "
            "--allow-program.",
        )
    from ..exported.opened import load_artifact

    artifact = load_artifact(path)
    return Natives(chosen({artifact.name: artifact}, ids, path))


def _parts(checkpoint: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The pipelines and pieces that were saved alone."""
    from ...v2.connectors.connector import ConnectorV2

    pieces = [
        component
        for component in checkpoint.components
        if component.pieces or component.component_class.startswith(_PIECES)
    ]
    places = {piece.path for piece in pieces}
    tops = [piece for piece in pieces if not any(_is_below(piece.path, place) for place in places)]
    if not tops:
        raise NotACheckpointError(
            f"{checkpoint.path} contains no policy",
            expected="policies, modules or pipelines",
            found=f"kind {checkpoint.kind!r} of the {checkpoint.stack} stack",
            hint=f"see what it holds: {command('inspect', checkpoint.path)}",
        )
    return {
        piece.path or Path(checkpoint.path).name: ConnectorV2.from_checkpoint(
            Path(checkpoint.path, piece.path), **words_of(options)
        )
        for piece in tops
    }


def _is_below(path: str, place: str) -> bool:
    return path != place and (not place or path.startswith(f"{place}/"))


def save_several(
    sources: Mapping[str, Any],
    save_one: Callable[[str, Any, Path], None],
    actor: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write players to an empty folder.

    `actor` contains the other properties of the actor as plain data.
    """
    for number, (name, source) in enumerate(sources.items()):
        save_one(name, source, folder / f"player_{number}")
    content = {"format": FORMAT, "format_version": 1, "players": list(sources), "actor": actor}
    (folder / ACTOR_FILE).write_text(format_json(encode(content)), encoding="utf-8")


def is_several(folder: Path) -> bool:
    """Whether a folder holds an actor of several players, and nothing else."""
    names = {entry.name for entry in entries(folder, limits_in_force())}
    others = {name for name in names if not re.fullmatch(r"player_[0-9]+", name)}
    if others != {ACTOR_FILE}:
        return False
    try:
        return saved_players(folder) is not None
    except RlconnectError:
        return False


def mapping_of(extra: Mapping[str, Any]) -> dict[Any, str] | None:
    """Return the mapping from agents to policies in a checkpoint, if any."""
    saved = extra.get("actor")
    if not isinstance(saved, Mapping) or not saved.get("agents"):
        return None
    return {agent: str(name) for agent, name in table_of(saved["agents"]).items()}
