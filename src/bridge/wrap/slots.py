"""Which environment of the old stack an episode of the new one is, and how far it was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Final

from ...core.runtime.sessions import Sessions
from ...v2.connectors.batch_items import is_multi_agent, key_of

_AGENT: Final = "agent"
_KEPT: Final = 10_000


class Slot:
    """One agent's running episode.

    Attributes:
        env_id: The number that stands for its environment.
        agent_id: The agent's name.
        acts_as: The name under which the policy knows it; an adapter may rename agents.
        t: The step seen last, -1 before the first.
        made: What a piece made of that step, to give again should it be asked again.
        left: The observation it left in the episode.
    """

    __slots__ = ("_episode", "acts_as", "agent_id", "env_id", "left", "made", "t")

    def __init__(self, env_id: int, agent_id: Any) -> None:
        self.env_id = env_id
        self.agent_id = self.acts_as = agent_id
        self.t = -1
        self.made: Any = None
        self.left: Any = None
        self._episode: Any = None

    def has_seen(self, episode: Any) -> bool:
        """Whether the last observation of this very episode was seen already.

        An agent that is done without a last observation has its one before repeated.
        """
        if self._episode is not episode:
            return False
        if self.t == episode.t:
            return True
        is_repeated = episode.is_done and self.left is not None
        return bool(is_repeated and episode.get_observations(-1) is self.left)

    def see(self, episode: Any, made: Any, left: Any = None) -> None:
        """Take note of the last step of an episode."""
        self.t, self.made, self.left, self._episode = episode.t, made, left, episode

    def __deepcopy__(self, memo: Any) -> Slot:
        """A copy of a pipeline goes on with the next step; episodes are not copied with it."""
        twin = Slot(self.env_id, self.agent_id)
        twin.acts_as, twin.t, twin.made = self.acts_as, self.t, deepcopy(self.made, memo)
        return twin


class Slots:
    """The slots of all episodes that run.

    An episode is known by its id. A step that comes again, or an earlier one, under a known id
    begins another episode. `reset` is told the number of an environment whose episode begins or is
    over.
    """

    def __init__(self, reset: Callable[[int], None]) -> None:
        self._reset = reset
        self._next = 0
        self._envs: dict[Any, dict[Any, Slot]] = {}
        self._over: set[Any] = set()
        self._sessions = Sessions(_KEPT, "a wrapped connector")

    def of(self, episode: Any) -> Slot:
        """The slot of an agent's episode."""
        key = key_of(episode)
        slots = self._envs.get(key[0])
        if slots is not None:
            slot = slots.get(key)
            if slot is not None and (slot.t < episode.t or slot.has_seen(episode)):
                return slot
            if slot is not None:
                self.forget(key[0])
                slots = None
        if slots is None:
            slots = self._envs[key[0]] = {}
        some = next(iter(slots.values()), None)
        env_id = self._next if some is None else some.env_id
        self._next = max(self._next, env_id + 1)
        agent_id = _AGENT if episode.agent_id is None else episode.agent_id
        slot = slots[key] = Slot(env_id, agent_id)
        return slot

    def close(self, episodes: Iterable[Any]) -> None:
        """Forget those that were over at the last call, and the least recently used of too many.

        Runners show an episode that has just ended more than once.
        """
        names = {
            episode.id_ if is_multi_agent(episode) else key_of(episode)[0]: episode.is_done
            for episode in episodes
        }
        for name in self._over - names.keys():
            self.forget(name)
        self._over = {name for name, is_done in names.items() if is_done}
        for name in self._sessions.use(names):
            self.forget(name)

    def forget(self, name: Any) -> None:
        """Forget an environment by the id of its episode."""
        slots = self._envs.pop(name, None)
        self._sessions.forget(name)
        for slot in (slots or {}).values():
            self._reset(slot.env_id)
            break

    def clear(self) -> None:
        """Forget all."""
        for name in list(self._envs):
            self.forget(name)
