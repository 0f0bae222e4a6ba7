"""A legacy policy as a module of the new stack."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import Self, override

from ...core import nest
from ...core.columns import Columns
from ...core.errors import ConfigError, PieceError
from ...core.runtime.sharing import Turn
from ...core.trust import trust
from ...legacy.connectors.context import ConnectorContext
from ...legacy.policy.policy import Policy
from ...v2.modules.apis import ValueFunctionAPI
from ...v2.modules.spec import RLModuleSpec
from ...v2.modules.torch_rl_module import TorchRLModule
from .distribution import LegacyDistribution
from .legacy_columns import columns_beside, windows_of
from .plain_policy import policy_from_data, policy_to_data, without_weights
from .step_records import state_name


@dataclass(frozen=True)
class Rows:
    """A forward batch in the old form.

    Args:
        columns: Of tensors, one row a step.
        states: One tensor `(B, ...)` for each state.
        seq_lens: Steps per sequence; None without a state.
        lead: The leading axes of the new form.
    """

    columns: dict[str, Any]
    states: list[Tensor]
    seq_lens: Tensor | None
    lead: tuple[int, ...]

    def restored(self, rows: Any) -> Any:
        """What the network gave, one row a step, in the new form."""
        return nest.map_structure(lambda leaf: leaf.reshape(*self.lead, *leaf.shape[1:]), rows)


def rows_of(
    batch: Mapping[str, Any], columns: Mapping[str, str], states: int, device: torch.device
) -> Rows:
    """The rows of a forward batch.

    `columns` has the batch's names of columns by the network's.
    """
    sources = {"obs": Columns.OBS, **columns}
    missing = [column for column in sources.values() if column not in batch]
    if states and Columns.STATE_IN not in batch:
        missing.append(Columns.STATE_IN)
    if missing:
        raise PieceError(
            f"the batch lacks columns that the policy looks at: {missing}",
            expected=str([*sources.values(), *([Columns.STATE_IN] if states else [])]),
            found=str(list(batch)),
            hint="LegacyAgentConnectorV2 of the policy's own connectors makes them.",
        )
    tensors = {name: _tensors(batch[column], device) for name, column in sources.items()}
    first = nest.a_leaf(tensors["obs"])
    if not states:
        return Rows(tensors, [], None, (len(first),))
    state_in = batch[Columns.STATE_IN]
    carried = [_tensors(state_in[state_name(place)], device) for place in range(states)]
    lead = tuple(first.shape[:2])
    flat = nest.map_structure(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), tensors)
    seq_lens = torch.full((lead[0],), lead[1], dtype=torch.int32, device=device)
    return Rows(flat, carried, seq_lens, lead)


def next_states(
    old_states: Iterable[Tensor], states: Iterable[Any], windows: Mapping[int, int], lead: Any
) -> dict[str, Tensor]:
    """The states to go on with, as a module gives them.

    The network gave next states, or a row a step of those that are windows: `windows` says of how
    many rows, by the place of the state. `lead` is sequences and steps.
    """
    states_after = {}
    for place, (before, after) in enumerate(zip(old_states, states, strict=True)):
        if place in windows:
            steps = after.reshape(*lead, *after.shape[1:])
            after = torch.cat([before, steps.to(before.dtype)], 1)[:, -windows[place] :]
        states_after[state_name(place)] = after
    return states_after


def _tensors(column: Any, device: torch.device) -> Any:
    return nest.map_structure(lambda leaf: torch.as_tensor(leaf, device=device), column)


POLICY: Final = "legacy_policy"
"""Which setting of `model_config` holds the policy, live or as plain data."""

CUSTOM: Final = "legacy_custom"
"""Which one holds the user's own classes: `custom_models`, `custom_distributions`."""


@trust
class LegacyPolicyModule(TorchRLModule, ValueFunctionAPI):
    """Acts as a legacy policy does, bit for bit, and learns as a module of the new stack.

    Actions come from the policy itself, exploration and its random numbers included, so outputs
    hold `actions` beside the policy's fetches. For learners the policy's torch network runs with
    gradients. What the policy looks at beside observations is put out again, so that it goes into
    episodes and from there into train batches.

    Without a state it takes `(B, ...)`, with one `(B, T, ...)`. The state is a dict of the policy's
    states, `state_0` and so on; an attention policy's is its whole memory.

    Args:
        observation_space: The policy's if None.
        action_space: The policy's if None.
        inference_only: Whether it only acts.
        learner_only: Whether it lives on learners only.
        model_config: Has "legacy_policy": a `Policy` (which is copied) or its plain data; see
            `spec_of`. "legacy_custom" holds the user's own classes that it needs.
        catalog_class: None; a policy brings its network.

    Attributes:
        policy: The policy, without connectors.
        network: Its torch network.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> policy = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> module = LegacyPolicyModule.of(policy)
        >>> outputs = module.forward_inference({"obs": torch.zeros(3, 4)})
        >>> outputs["actions"].shape, outputs["vf_preds"].shape
        (torch.Size([3]), torch.Size([3]))
    """

    policy: Policy
    network: Any

    @override
    def setup(self) -> None:
        """Build the policy from its data.

        Raises:
            ConfigError: The settings hold none.
        """
        policy = self.model_config.get(POLICY)
        if not isinstance(policy, (Policy, Mapping)):
            raise ConfigError(
                f"{type(self).__name__} has no policy",
                expected=f"model_config={{{POLICY!r}: policy}}",
                found=f"{sorted(map(str, self.model_config))}",
                hint="LegacyPolicyModule.of(policy), or spec_of(policy) for a config.",
            )
        data = policy_to_data(policy) if isinstance(policy, Policy) else policy
        custom = self.model_config.get(CUSTOM) or {}
        self.policy = policy = policy_from_data(data, custom=custom)
        self.model_config = {**self.model_config, POLICY: data}
        self.observation_space = _or(self.observation_space, policy.observation_space)
        self.action_space = _or(self.action_space, policy.action_space)
        head = policy.networks.torch().head
        self.network = head.model
        if not isinstance(self.network, nn.Module):
            raise ConfigError(
                f"the network of policy {policy.name!r} is no torch module",
                found=type(self.network).__name__,
            )
        context = ConnectorContext.from_policy(policy)
        self._columns = columns_beside(context)
        self._windows = windows_of(context)
        self._first_timestep = policy.global_timestep
        self._acts_with = self._versions()
        self._placing = Turn()
        build = head.dist_class
        self.action_dist_cls = LegacyDistribution.made_by(lambda rows: build(rows, self.network))

    @classmethod
    def of(cls, policy: Policy, *, custom: Mapping[str, Any] | None = None) -> Self:
        """The module of a policy, which stays as it is.

        Args:
            policy: The policy.
            custom: The user's own classes it was loaded with: `{"custom_models": {...}}`.
        """
        module: Any = cls.spec_of(policy, custom=custom).build()
        module.policy.rng = copy.deepcopy(policy.rng)
        return module  # type: ignore[no-any-return]  # what a spec builds

    @classmethod
    def spec_of(cls, policy: Policy, *, custom: Mapping[str, Any] | None = None) -> RLModuleSpec:
        """What the module of a policy is built from, for a config; arguments as for `of`."""
        model = policy.config.get("model") or {}
        settings: dict[str, Any] = {
            POLICY: policy_to_data(policy),
            "max_seq_len": int(model.get("max_seq_len") or 20),
        }
        if custom:
            settings[CUSTOM] = dict(custom)
        return RLModuleSpec(
            cls, policy.observation_space, policy.action_space, model_config=settings
        )

    # Acting

    @override
    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._acted(batch, explore=False, t=kwargs.get("t"))

    @override
    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._acted(batch, explore=True, t=kwargs.get("t"))

    def _acted(self, batch: dict[str, Any], *, explore: bool, t: Any) -> dict[str, Any]:
        """What the policy answers, as outputs of a module."""
        device = self._place()
        rows = rows_of(batch, self._columns, self.policy.num_state_tensors(), device)
        columns = {name: _arrays(column) for name, column in rows.columns.items()}
        for place, state in enumerate(rows.states):
            columns[f"state_in_{place}"] = _arrays(state)
        if rows.seq_lens is not None:
            columns[Columns.SEQ_LENS] = _arrays(rows.seq_lens)
        actions, states, fetches = self.policy.compute_actions_from_input_dict(
            columns,
            explore=explore,
            timestep=None if t is None else self._first_timestep + int(t),
        )
        answer = {Columns.ACTIONS: actions, **fetches}
        outputs: dict[str, Any] = {
            name: rows.restored(_on_device(column, device)) for name, column in answer.items()
        }
        if states:
            after = [_on_device(state, device) for state in states]
            outputs[Columns.STATE_OUT] = next_states(rows.states, after, self._windows, rows.lead)
        return {**{column: batch[column] for column in self._columns.values()}, **outputs}

    def _place(self) -> torch.device:
        """Where the weights are now; the policy's numpy network follows weights that changed."""
        with self._placing:
            return self._placed()

    def _placed(self) -> torch.device:
        versions = self._versions()
        if versions != self._acts_with:
            device = versions[0]
            self.policy.device = self.policy.networks.device = str(device)
            self.policy.networks.torch().device = str(device)
            acts_in_numpy = self.policy.networks.numpy is not None
            self.policy.set_weights(self.policy.get_weights())
            if not acts_in_numpy:
                self.policy.networks.numpy = None
            self._acts_with = versions = self._versions()
        device = versions[0]
        assert isinstance(device, torch.device), "the first entry"
        return device

    def _versions(self) -> tuple[Any, ...]:
        """Something that is another one once weights were changed or moved."""
        weights = [*self.network.parameters(), *self.network.buffers()]
        device = weights[0].device if weights else torch.device("cpu")
        return (device, *[weight._version for weight in weights])

    # Learning

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        rows, output = self._forwarded(batch)
        outputs = {
            Columns.ACTION_DIST_INPUTS: rows.restored(output.dist_inputs),
            **{name: rows.restored(column) for name, column in output.extra.items()},
        }
        if Columns.VF_PREDS in outputs:
            outputs[Columns.EMBEDDINGS] = outputs[Columns.VF_PREDS]
        if output.state_out:
            outputs[Columns.STATE_OUT] = next_states(
                rows.states, output.state_out, self._windows, rows.lead
            )
        return outputs

    @override
    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Any:
        """Estimate values `(B,)`, or `(B, T)` with a state.

        Args:
            batch: Columns of a forward batch.
            embeddings: The values `forward_train` has computed already, if it ran: old networks
                compute both in one pass.

        Raises:
            PieceError: The algorithm has no value network.
        """
        if embeddings is not None:
            return embeddings
        rows, output = self._forwarded(batch)
        if Columns.VF_PREDS not in output.extra:
            raise PieceError(
                f"{self.policy.algorithm} policies have no value estimate",
                hint="act with it, or imitate it: BC learns without values.",
            )
        return rows.restored(output.extra[Columns.VF_PREDS])

    def _forwarded(self, batch: dict[str, Any]) -> tuple[Rows, Any]:
        """The rows of a batch, and what the torch network makes of them."""
        device = next(
            (parameter.device for parameter in self.network.parameters()), torch.device("cpu")
        )
        rows = rows_of(batch, self._columns, self.policy.num_state_tensors(), device)
        head = self.policy.networks.torch().head
        return rows, head.policy_outputs(rows.columns, rows.states, rows.seq_lens)

    # State

    @override
    def get_initial_state(self) -> Any:
        """Return the policy's states before the first step, as arrays; {} if it has none."""
        initial = {}
        for place, state in enumerate(self.policy.get_initial_state()):
            rows = self._windows.get(place)
            initial[state_name(place)] = state if rows is None else np.stack([state] * rows)
        return initial

    def policy_states(self, state: Mapping[str, Any]) -> list[Any]:
        """The policy's own states `(B, ...)` in a batch of states of this module, in its order.

        Of a memory it is the newest row.
        """
        states = [state[state_name(place)] for place in range(len(state))]
        return [
            part[:, -1] if place in self._windows else part for place, part in enumerate(states)
        ]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as plain data; weights are in the state, here are their shapes."""
        args, kwargs = super().get_ctor_args_and_kwargs()
        settings = {**kwargs["model_config"], POLICY: without_weights(self.model_config[POLICY])}
        return args, {**kwargs, "model_config": settings}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are built anew, so that policy and module share one network."""
        kwargs = TorchRLModule.get_ctor_args_and_kwargs(self)[1]
        return _rebuilt, (type(self), kwargs, self.get_state(), self.policy.rng, self.training)


def _rebuilt(
    cls: type[LegacyPolicyModule],
    kwargs: Mapping[str, Any],
    state: Mapping[str, Any],
    rng: np.random.Generator,
    is_training: bool,
) -> LegacyPolicyModule:
    module = cls(**kwargs)
    module.set_state(state)
    module.policy.rng = copy.deepcopy(rng)
    return module.train(is_training)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _arrays(column: Any) -> Any:
    return nest.map_structure(lambda leaf: leaf.detach().cpu().numpy(), column)


def _on_device(column: Any, device: torch.device) -> Any:
    return nest.map_structure(lambda leaf: torch.as_tensor(np.asarray(leaf), device=device), column)
