"""What a policy is worth by what another one did: estimates without an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Discrete

from ...core.errors import PieceError
from ...offline.estimators import NEED_MODEL, Estimate, doubts_of, judged, known_method, recorded
from ...offline.fitted_q import FittedQSettings
from ..loading.natives import Native, natives_of, policy_spaces
from .watched import Form, Watching, dataset_at, watched, with_values

if TYPE_CHECKING:
    from ..loading.natives import Source


def evaluate(
    policy: Source,
    data: Any,
    method: str = "is",
    gamma: float = 1.0,
    epsilon_greedy: float = 0.0,
    by_episode: bool = True,
    q_model: Mapping[str, Any] | None = None,
    *,
    policy_id: str | None = None,
    observations: Form = "auto",
    actions_normalized: bool | None = None,
    greedy: bool = False,
    behavior: Source | None = None,
    **options: Any,
) -> Estimate:
    """Estimate what a policy is worth from what another one did, with RLlib's numbers.

    The policy's own connectors, filters and memories are taken along each episode.

    Args:
        policy: A path, what `rlconnect.load` gave, or a policy of either stack, adapted, migrated
            or exported.
        data: A path for `open_dataset`, or what it gave; with the column "action_prob" or
            "action_logp".
        method: "is" or "pdis" (per-decision importance sampling, RLlib's), "wis" (weighted), "dm"
            (direct method: fitted Q evaluation), "dr" (doubly robust).
        gamma: The discount.
        epsilon_greedy: The share of actions the policy takes at random; of few actions. As in
            RLlib it changes weights alone, not what a model expects.
        by_episode: Judge each step by itself if false, as for bandits.
        q_model: How the model is fitted, by the names of RLlib's FQE: "n_iters", "lr",
            "fcnet_hiddens", ...; "weights" to start from.
        policy_id: Which of several policies.
        observations: "raw" as the environment gave them, "seen" as a network behind connectors
            did; "auto" tells by their shapes.
        actions_normalized: Whether recorded actions are as networks give them; None tells by the
            kind of data.
        greedy: Whether to judge the policy as one that always takes its best action.
        behavior: The policy that recorded the data, if the data has no probabilities.
        **options: As for `rlconnect.load`, of a path.

    Raises:
        ConfigError: An unknown method.
        PieceError: The policy, or the data, is of a kind that cannot be judged.
        SpaceError: The data is of another environment.
    """
    known_method(method)
    dataset = dataset_at(data)
    settings = {"form": observations, "is_normalized": actions_normalized}
    native = natives_of(policy, policy_id, **options).only
    acted = policy_spaces(native)[1]
    if epsilon_greedy and not isinstance(acted, Discrete):
        raise PieceError("epsilon_greedy needs a Discrete action space", found=str(acted))
    watched_steps = watched(
        Watching(native, dataset, is_greedy=greedy, **settings),  # type: ignore[arg-type]  # both as declared
        policy=policy_id or native.name,
        by_episode=by_episode,
        with_model=method in NEED_MODEL,
        behavior=None
        if behavior is None
        else Watching(natives_of(behavior, policy_id, **options).only, dataset, **settings),  # type: ignore[arg-type]
    )
    steps = watched_steps.steps(
        epsilon_greedy,
        int(acted.n) if isinstance(acted, Discrete) else 0,
        needs_weights=method != "dm",
    )
    if watched_steps.model is not None:
        steps = with_values(steps, watched_steps.model, gamma, FittedQSettings.of(q_model))
    judgement = judged(method, steps, gamma)
    return Estimate.of(recorded(steps, gamma), judgement, doubts_of(method, steps))


def own_discount(native: Native) -> float | None:
    """The discount that a policy learnt with, if it says."""
    config = getattr(native, "config", None)
    gamma = config.get("gamma") if isinstance(config, Mapping) else None
    return float(gamma) if isinstance(gamma, (int, float)) else None
