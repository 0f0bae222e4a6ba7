"""The algorithms of the old stack, whichever way a checkpoint spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...core.algorithms import SPELLINGS, family_of
from ...core.errors import UnknownNameError
from ...core.formulas.schedules import class_name
from ...core.text.near_names import LONGEST_NAME, near_names

_SPELLINGS: Final[Mapping[str, str]] = {
    spelling: name for spelling, name in SPELLINGS.items() if family_of(name)
}

_ENDINGS: Final = re.compile(
    r"(eager|traced|torchpolicy|tf1policy|tf2policy|statictfpolicy|eagertfpolicy|eagerpolicy"
    r"|tfpolicy|policy|v2|algorithm|trainer|config|torch)$"
)


def algorithm_named(name: Any) -> str:
    """The algorithm a policy class, trainer class, registry name or path stands for.

    Args:
        name: "PPO", "PPOTorchPolicy", "APEX-DQN", "ray.rllib...ppo.PPOConfig", or a class.

    Raises:
        UnknownNameError: No algorithm of the old stack is called that.

    Example:
        >>> algorithm_named("ray.rllib.algorithms.dqn.dqn_torch_policy.DQNTorchPolicy")
        'DQN'
    """
    # The longest that is known has 40 letters; what a file says may go on without end.
    bare = re.sub(r"[^a-z0-9]", "", class_name(name)[-LONGEST_NAME:].lower())
    while True:
        if bare in _SPELLINGS:
            return _SPELLINGS[bare]
        shorter = _ENDINGS.sub("", bare)
        if shorter in ("", bare):
            break
        bare = shorter
    names = dict.fromkeys(_SPELLINGS.values())
    near = near_names(bare, _SPELLINGS, n=1, cutoff=0.5)
    raise UnknownNameError(
        f"no algorithm of the old stack is called {class_name(name)[:LONGEST_NAME]!r}.",
        hint=f"did you mean {_SPELLINGS[near[0]]!r}?" if near else f"known: {', '.join(names)}.",
        name=class_name(name),
    )
