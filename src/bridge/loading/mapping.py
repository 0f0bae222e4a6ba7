"""Which policy plays an agent."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ...core.errors import UnknownNameError
from ...core.runtime.sessions import MAX_SESSIONS

PolicyMapping = Callable[..., Any] | Mapping[Hashable, Any] | None


class Casting:
    """The policy of each agent; `known` caches the answers last used.

    Args:
        names: The policies there are.
        mapping: A `policy_mapping_fn` in any of RLlib's signatures, a dict by agent or by pattern
            (`"car_*"`, the first that fits), or None: then an agent is played by the policy of its
            own name, or by the only one.

    Example:
        >>> Casting(["walker", "runner"], lambda agent_id, *rest, **more: "runner")(7)
        'runner'
        >>> Casting(["walker", "runner"], {"slow_*": "walker", "*": "runner"})("slow_3")
        'walker'
    """

    def __init__(self, names: Sequence[str], mapping: PolicyMapping = None) -> None:
        self.names = list(names)
        self.mapping = mapping
        self.known: OrderedDict[Hashable, str] = OrderedDict()

    def __call__(self, agent_id: Hashable) -> str:
        """The policy's id."""
        policy_id = self.known.get(agent_id)
        if policy_id is None:
            policy_id = self.known[agent_id] = self._looked_up(agent_id)
            if len(self.known) > MAX_SESSIONS:
                self.known.popitem(last=False)
        else:
            self.known.move_to_end(agent_id)
        return policy_id

    def _looked_up(self, agent_id: Hashable) -> str:
        if self.mapping is None:
            name: Any = agent_id if agent_id in self.names else None
            if name is None and len(self.names) == 1:
                name = self.names[0]
        elif isinstance(self.mapping, Mapping):
            name = self.mapping.get(agent_id)
            if name is None:
                patterns = [pattern for pattern in self.mapping if isinstance(pattern, str)]
                fits = (pattern for pattern in patterns if fnmatchcase(str(agent_id), pattern))
                name = self.mapping.get(next(fits, None))
        else:
            name = self.mapping(*_arguments(self.mapping, agent_id))
        if name not in self.names:
            raise UnknownNameError(
                f"no policy plays agent {agent_id!r}",
                expected=f"one of {self.names}",
                found=repr(name),
                hint="pass a policy_mapping_fn to the actor, or a dict from agents to policies.",
            )
        return str(name)


def _arguments(mapping: Callable[..., Any], agent_id: Hashable) -> list[Any]:
    """The agent, and None for each further argument that RLlib would have passed."""
    required = [
        parameter
        for parameter in inspect.signature(mapping).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return [agent_id, *[None] * (len(required) - 1)]
