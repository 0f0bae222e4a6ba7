"""From columns by agent to columns by module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.columns import Columns
from ....core.errors import PieceError, SpaceError, UnknownNameError
from ....core.spaces.walk import same_space
from ....core.trust import Names, find
from ....core.trust.arguments import live_arguments
from ....core.vault.decode.standins import GlobalRef, Opaque, class_path, mapping_of
from ...episodes.multi_agent import MultiAgentEpisode
from ...saving.class_slots import FUNCTION
from ..batch_items import is_multi_agent
from ..columnar import ColumnarPiece
from ..piece_plan import Call
from ..table import NotColumnar, Table
from .batch_individual_items import check_same_owners


class LostMapping:
    """Placeholder for a mapping function that was not loaded; calling it raises an error.

    Args:
        name: What the file calls it.

    Example:
        >>> LostMapping("__main__.<lambda>")("walker")
        Traceback (most recent call last):
            ...
        rlconnect.core.errors.UnknownNameError: which module plays agent 'walker'? ...
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, agent_id: Any, episode: Any = None, **kwargs: Any) -> Any:
        """Raise an error.

        Raises:
            UnknownNameError: Always.
        """
        raise UnknownNameError(
            f"which module plays agent {agent_id!r}? {self.name!r} knew, and code is not loaded",
            expected="a function from agents to modules, or a dict",
            hint="load with policy_mapping_fn=, in a terminal --map AGENT=MODULE for each agent.",
        )


_NO_ROWS: Final = "a module is not there, or a column has the name of one"


@dataclass(frozen=True)
class AgentMapping:
    """Mapping of agents to modules in a multi-agent pipeline.

    Attributes:
        rl_module_specs: The modules, or only their ids.
        agent_to_module_mapping_fn: Maps agent id and episode to a module id.
    """

    rl_module_specs: Mapping[Any, Any] | Collection[Any]
    agent_to_module_mapping_fn: Callable[..., Any]


class AgentToModuleMapping(ColumnarPiece):
    """Regroup the items of agents by the module each agent's key names.

    Agents that are done are left out where modules act. Which rows belong to whom is kept in
    `shared_data["memorized_map_structure"]`.

    Args:
        input_observation_space: By agent id; what comes out is by module id.
        input_action_space: By agent id.
        rl_module_specs: The modules, or only their ids.
        agent_to_module_mapping_fn: Agent id and episode to module id; asked about spaces only,
            and then without an episode.
        as_learner_connector: Whether the batch is a train batch.
    """

    TAKES_ROWS = True

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        rl_module_specs: Mapping[Any, Any] | Collection[Any],
        agent_to_module_mapping_fn: Callable[..., Any],
        as_learner_connector: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.rl_module_specs = rl_module_specs
        self.agent_to_module_mapping_fn = agent_to_module_mapping_fn
        self.as_learner_connector = as_learner_connector

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Any:
        return self._by_module(input_observation_space, "observation_space")

    @override
    def recompute_output_action_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Any:
        return self._by_module(input_action_space, "action_space")

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        modules = call.rl_module if call.is_multi else self.rl_module_specs
        done = set() if self.as_learner_connector else done_agents(call.episodes)
        if type(batch) is Table:
            return self._mapped_rows(batch, modules, done, call)
        by_module: dict[Any, dict[str, Any]] = {}
        order: dict[Any, list[tuple[Any, Any]]] | None = None
        observed: dict[Any, Any] | None = None
        for column, by_agent in batch.items():
            if column in modules:
                by_module.setdefault(column, {}).update(by_agent)
                continue
            acting = self._acting(column, by_agent, done)
            if column == Columns.OBS and not self.as_learner_connector:
                observed = acting
                self._check_modules(acting, modules)
            elif observed is not None:
                check_same_owners(self, column, acting, observed)
            if order is None:
                order = {}
                for eps_id, agent_id, module_id in acting:
                    order.setdefault(module_id, []).append((eps_id, agent_id))
            for key, items in acting.items():
                by_module.setdefault(key[2], {}).setdefault(column, []).extend(items)
        call.shared_data["memorized_map_structure"] = order or {}
        return by_module

    def _mapped_rows(
        self, table: Table, modules: Collection[Any], done: set[tuple[Any, Any]], call: Call
    ) -> Table:
        blocks = table.blocks
        if self.as_learner_connector or table.is_by_module or None in blocks:
            raise NotColumnar(_NO_ROWS)
        if any(name in modules for rows in blocks.values() for name in rows.columns):
            raise NotColumnar(_NO_ROWS)
        if any(module_id not in modules for module_id in blocks):
            raise NotColumnar(_NO_ROWS)
        if done and any(key in done for rows in blocks.values() for key in rows.keys):
            acting = {}
            for module_id, rows in blocks.items():
                places = [place for place, key in enumerate(rows.keys) if key not in done]
                if places:
                    is_all = len(places) == len(rows.keys)
                    acting[module_id] = rows if is_all else rows.take(places)
            blocks = dict(sorted(acting.items(), key=lambda pair: pair[1].places[0]))
        call.shared_data["memorized_map_structure"] = {
            module_id: rows.keys for module_id, rows in blocks.items()
        }
        return Table(blocks, is_by_module=True)

    @classmethod
    @override
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest = dict(kwargs)
        specs, mapping = (
            rest.pop("rl_module_specs", ()),
            rest.pop("agent_to_module_mapping_fn", None),
        )
        live, by_name = super()._live_arguments(args, rest, names)
        if isinstance(specs, Mapping):
            by_name["rl_module_specs"] = {key: _spaces_of(each) for key, each in specs.items()}
        else:
            by_name["rl_module_specs"] = live_arguments(specs, names)
        by_name["agent_to_module_mapping_fn"] = _mapping_in_file(mapping, names)
        return live, by_name

    def _check_modules(self, acting: Mapping[Any, Any], modules: Collection[Any]) -> None:
        for eps_id, agent_id, module_id in acting:
            if module_id not in modules:
                raise PieceError(
                    f"{type(self).__name__}: agent {agent_id!r} of episode {eps_id!r} is mapped to "
                    f"module {module_id!r}, which does not exist",
                    expected=f"one of {[*modules]}",
                    hint="let agent_to_module_mapping_fn return one of these, or add the module.",
                )

    def _acting(
        self, column: str, by_agent: Any, done: set[tuple[Any, Any]]
    ) -> dict[tuple[Any, Any, Any], list[Any]]:
        is_right = isinstance(by_agent, dict) and all(
            isinstance(key, tuple) and len(key) == 3 for key in by_agent
        )
        if not is_right:
            raise PieceError(
                f"{type(self).__name__} does not know whose items column {column!r} holds",
                expected="lists by (episode id, agent id, module id)",
                found=type(by_agent).__name__
                if not isinstance(by_agent, dict)
                else f"keys {list(by_agent)[:2]}",
                hint="add items with their agent's episode.",
            )
        return {key: items for key, items in by_agent.items() if key[:2] not in done}

    def _by_module(self, space: Any, which: str) -> Any:
        if not isinstance(space, spaces.Dict):
            return space
        specs = self.rl_module_specs
        by_id: dict[Any, Any] = {
            module_id: getattr(specs[module_id], which, None)
            if isinstance(specs, Mapping)
            else None
            for module_id in specs
        }
        agents = space.spaces
        first = next(iter(agents.values()), None)
        common = first if all(other == first for other in agents.values()) else None
        for module_id, given_space in by_id.items():
            if given_space is not None:
                continue
            if common is not None:
                by_id[module_id] = common
            elif not isinstance(self.agent_to_module_mapping_fn, LostMapping):
                by_id[module_id] = self._mapped(module_id, agents, which)
        return spaces.Dict({name: each for name, each in by_id.items() if each is not None})

    def _mapped(self, module_id: Any, agents: Mapping[Any, Any], which: str) -> Any:
        """The space of the agents that the mapping function gives to a module."""
        common = None
        for agent_id, space in agents.items():
            if self.agent_to_module_mapping_fn(agent_id, None) != module_id:
                continue
            if common is not None and not same_space(space, common):
                raise SpaceError(
                    f"agents of ModuleID {module_id!r} have different {which}s (spaces)",
                    expected=str(common),
                    found=f"{space} of agent {agent_id!r}",
                    hint=f"set the {which} of the module's spec, or use one module per agent.",
                )
            common = space
        if common is None:
            raise SpaceError(
                f"no agent is mapped to ModuleID {module_id!r}, so its {which} is unknown (spaces)",
                hint=f"set the {which} of the module's spec.",
            )
        return common


@dataclass(frozen=True)
class _Spaces:
    """All that this piece asks of a module's spec."""

    observation_space: Any = None
    action_space: Any = None


def _spaces_of(spec: Any) -> _Spaces:
    """Return the spaces of a spec in a file; its other entries are ignored."""
    fields = mapping_of(spec) if isinstance(spec, Opaque) else {}
    saved_spaces = {name: fields.get(name) for name in ("observation_space", "action_space")}
    return _Spaces(**live_arguments(saved_spaces, Names()))


def _mapping_in_file(value: Any, names: Names) -> Any:
    """Return the mapping function that a file names, or a placeholder."""
    is_named = isinstance(value, GlobalRef) or (isinstance(value, Opaque) and value.is_by_value)
    if value is None or is_named:
        name = class_path(value) if is_named else "a function"
        return find(name, FUNCTION, names.trust) or LostMapping(name)
    return live_arguments(value, names)


def done_agents(episodes: Iterable[Any]) -> set[tuple[Any, Any]]:
    """The ids of episode and agent of all agents that are done.

    Args:
        episodes: Of several agents; others are passed over.
    """
    done: set[tuple[Any, Any]] = set()
    for episode in episodes:
        if type(episode) is MultiAgentEpisode:
            journal = episode.journal
            if journal is not None and len(journal.agents) == len(episode.singles):
                continue  # All of them act.
            # An agent's own episode says so without being brought up to date.
            singles = episode.singles
        elif is_multi_agent(episode):
            singles = episode.agent_episodes
        else:
            continue
        for agent_id, single in singles.items():
            if single.is_terminated or single.is_truncated:
                done.add((episode.id_, agent_id))
    return done


class ModuleToAgentUnmapping(ColumnarPiece):
    """Put the items of all modules together again; their keys say whose they are.

    Example:
        >>> batch = {"p": {"actions": {("e", "a", "p"): [1]}}}
        >>> ModuleToAgentUnmapping()(rl_module=None, batch=batch, episodes=[])
        {'actions': {('e', 'a', 'p'): [1]}}
    """

    TAKES_ROWS = True

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if type(batch) is Table:
            if not batch.is_by_module:
                raise NotColumnar("the batch is not by module")
            batch.is_by_module = False
            return batch
        by_agent: dict[str, Any] = {}
        for columns in batch.values():
            for column, items in columns.items():
                by_agent.setdefault(column, {}).update(items)
        return by_agent
