"""One policy as a user holds it, whichever stack it is of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from gymnasium.spaces import Space

from ...core import nest
from ...core.arrays.batching import unbatch
from ...core.pages.figure import Figure
from ...core.spaces.text import short_space
from ...core.text.visible import visible
from ...legacy.policy.policy import Policy
from ..actor.actor import Actor
from ..loading.natives import Native, Natives, policy_spaces
from ..triple import V2Triple

if TYPE_CHECKING:
    from ..exported.opened import Artifact
    from ..proof.staged import Staged


class Acts:
    """What holds policies as `natives`, has an actor of them, and acts by it."""

    @cached_property
    def actor(self) -> Actor:
        """What acts, and remembers what it must between calls; a copy of what is native."""
        holder: Any = self
        return Actor.from_policy(holder)

    def act(
        self,
        obs: Any,
        *,
        env_ids: Any = None,
        agent_ids: Any = None,
        reward: Any = None,
        terminated: Any = None,
        truncated: Any = None,
        explore: bool = False,
        seed: int | None = None,
    ) -> Any:
        """An action for an observation, a batch for a batch, a dict for a dict: `Actor.act`."""
        return self.actor.act(
            obs,
            env_ids=env_ids,
            agent_ids=agent_ids,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            explore=explore,
            seed=seed,
        )

    def reset(self, env_ids: Any = None) -> None:
        """Forget what was remembered of environments, whose episodes are over; of all if None."""
        self.actor.reset(env_ids)


_MADE: Final = ("actor", "_staged")
"""What is made when it is first asked for, and stays behind when a policy travels."""


class LoadedPolicy(Acts):
    """A policy that acts: what `rlconnect.load` gives, and every verb takes.

    Args:
        id: What the checkpoint calls it.
        native: It, as its stack has it: a `Policy`, a `V2Triple`, or an exported `Artifact`.
        path: Where it came from, if from a file.

    Example:
        >>> import rlconnect
        >>> policy = rlconnect.load("examples/checkpoints/ppo-cartpole-ray-2.60").only
        >>> policy
        <PPO 'default_policy' of the old stack: Box(4,) float32 -> Discrete(2)>
        >>> int(policy.act([0.1, 0.0, -0.1, 0.0])) in (0, 1)
        True
    """

    def __init__(self, id: str, native: Native, path: str = "") -> None:
        self.id = id
        self.native: Policy | V2Triple | Artifact = native
        self.path = path

    @property
    def natives(self) -> Natives:
        """The policy as loaders give it: the only one by its id."""
        return Natives({self.id: self.native}, path=self.path)

    @property
    def observation_space(self) -> Space[Any]:
        """What an environment gives."""
        return policy_spaces(self.native)[0]

    @property
    def action_space(self) -> Space[Any]:
        """What an environment takes."""
        return policy_spaces(self.native)[1]

    def stages(self, obs: Any) -> dict[str, Any]:
        """What each stage of the policy makes of an episode's first observation, or of a batch.

        Returns:
            By stage, in the order in which data passes them: "observation" as the network sees it,
            "outputs" of the network, "value", "state", "action", as far as the policy has them.
        """
        rows, is_one = self.actor.players[self.id].form.rows(obs)
        observations = unbatch(rows)
        slots = list(range(len(observations)))
        self._staged.reset(slots)
        columns = self._staged.step(slots, observations, None)
        return nest.taken(columns, 0) if is_one else columns

    @cached_property
    def _staged(self) -> Staged:
        """A copy that can be looked into."""
        from ..proof.verify import at_rest

        return at_rest(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it where `rlconnect.load` finds it again, all or nothing.

        Raises:
            CheckpointWriteError: The disk refuses; what was there before is untouched.
        """
        if isinstance(self.native, (Policy, V2Triple)):
            Actor.from_policy(self).save(path)
        else:
            self.native.save(path)

    @property
    def kind(self) -> str:
        """What it is, in words: "PPO of the old stack"."""
        if isinstance(self.native, Policy):
            return f"{self.native.algorithm} of the old stack"
        if isinstance(self.native, V2Triple):
            return f"{type(self.native.module).__name__} of the new stack"
        return f"exported {self.native.manifest['kind']} program"

    def __getattr__(self, name: str) -> Any:
        """What else a policy of its stack has, to be read: connectors, a module, a config."""
        if name.startswith("__") or name in ("native", *_MADE):
            raise AttributeError(name)
        return getattr(self.native, name)

    def __repr__(self) -> str:
        what, _, stack = self.kind.partition(" of ")
        of = f" of {stack}" if stack else ""
        spaces = f"{short_space(self.observation_space)} -> {short_space(self.action_space)}"
        return visible(f"<{what} {self.id!r}{of}: {spaces}>")

    def draw(self) -> Figure:
        """The pieces that data passes, from an observation to an action, as boxes and arrows."""
        if isinstance(self.native, (Policy, V2Triple)):
            return self.native.draw()
        return Figure(self.id, self._staged.pieces(), note=self.kind)

    def _repr_html_(self) -> str:
        return self.draw()._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _MADE}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
