"""An actor's step as a compiled program: eager, by torch's compiler, or as a CUDA graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from threading import get_ident
from typing import Any, Literal

import numpy as np
import torch
from gymnasium.spaces import Space
from torch import Tensor

from ...core import array_namespace as xp
from ...core import nest
from ...core.errors import ConfigError, PieceError
from ...core.runtime.sharing import Turn
from ...core.step.plan import ActPlan
from ...core.step.tensor_step import placed
from ...core.text.visible import visible
from ...core.types import Array, Nest
from ...legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType
from ...legacy.policy.policy import Policy
from ..actor.actor import Actor
from .artifact import exported, plan_of
from .flat_step import FlatStep
from .traced_plan import traced_plan

_WARM_UPS = 3


class GraphedStep:
    """A flat step recorded on a GPU; a call copies its inputs into place and replays.

    What comes out is overwritten by the next call: states may be given back as they are. That is so
    in the thread that made it; others take turns at a recording of their own, and get copies.
    """

    def __init__(self, step: FlatStep, batch: int, device: str) -> None:
        self._arguments = step, batch, device
        self._owner = get_ident()
        self._turn = Turn()
        self._others: GraphedStep | None = None
        self._inputs = [placed(port.zeros(batch), device) for port in step.inputs]
        cuda: Any = torch.cuda
        side = cuda.Stream(device)
        side.wait_stream(cuda.current_stream(device))
        with cuda.stream(side), torch.no_grad():
            for _ in range(_WARM_UPS):
                step(*self._inputs)
        cuda.current_stream(device).wait_stream(side)
        self._graph = cuda.CUDAGraph()
        with cuda.graph(self._graph, capture_error_mode="thread_local"), torch.no_grad():
            self._outputs = step(*self._inputs)

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Actions and next states for inputs of the recorded batch."""
        if get_ident() != self._owner:
            with self._turn:
                if self._others is None:
                    self._others = GraphedStep(*self._arguments)
                return tuple(output.clone() for output in self._others._replayed(tensors))
        return self._replayed(tensors)

    def _replayed(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for place, tensor in zip(self._inputs, tensors, strict=True):
            place.copy_(tensor, non_blocking=True)
        self._graph.replay()
        outputs: tuple[Tensor, ...] = self._outputs
        return outputs


Backend = Literal["eager", "inductor", "cudagraph"]


class SplitWarning(UserWarning):
    """A compiled program is split at pieces without a tensor form, which run item by item."""


class Program:
    """One step of every row: raw observations and states in, actions and states out.

    Args:
        plan: What is compiled.
        batch: How many rows, if that is fixed.
        device: Where it runs.
        backend: "eager" runs torch's operators one by one; "inductor" compiles them (on CPU slower
            than eager for small networks); "cudagraph" replays them, on a GPU, for a fixed batch.
        is_half: Whether the network computes in bfloat16; `error_of` reports what that costs.

    Attributes:
        before: Connectors that run item by item before the tensors, where the chain is split.
        after: Those that run item by item behind them.
    """

    def __init__(
        self,
        plan: ActPlan,
        *,
        batch: int | None = None,
        device: str = "cpu",
        backend: Backend = "eager",
        is_half: bool = False,
    ) -> None:
        self.plan, self.batch, self.device, self.backend = plan, batch, device, backend
        self.before: list[Any] = []
        self.after: list[Any] = []
        self.is_half = is_half
        self._turn = Turn()
        self.step = FlatStep(plan).to(device)
        self._run: Any = self.step
        if backend == "inductor":
            module = exported(FlatStep(plan)).module().to(device)
            self._run = torch.compile(module, dynamic=batch is None)
        elif backend == "cudagraph":
            if batch is None or not device.startswith("cuda"):
                raise ConfigError(
                    "a CUDA graph is of a fixed batch on a GPU",
                    expected="batch=, device='cuda'",
                    found=f"batch={batch}, device={device!r}",
                )
            self._run = GraphedStep(self.step, batch, device)
        elif backend != "eager":
            raise ConfigError(
                "no such backend", expected="'eager', 'inductor' or 'cudagraph'", found=backend
            )

    def start(self, rows: int) -> tuple[Tensor, ...]:
        """The states of rows that have just begun."""
        return tuple(placed(np.repeat(row[None], rows, 0), self.device) for row in self.plan.start)

    def __call__(
        self, obs: Nest, states: Any = (), *, reward: Any = None, first: Any = None
    ) -> tuple[Nest, tuple[Tensor, ...]]:
        """One step without exploration.

        Args:
            obs: Observations with a leading axis, arrays or tensors.
            states: What `start` or the last call gave.
            reward: What the last actions earned, where the policy sees rewards.
            first: Which rows begin an episode; none if None.

        Returns:
            Actions, as tensors on the device, and states. Pieces the chain is split at give
            arrays.
        """
        if self.before:
            with self._turn:  # connectors of a user's own
                obs = _agent_side(self.before, obs)
        leaves = [placed(leaf, self.device) for leaf in nest.flatten(obs)]
        rows = leaves[0].shape[0]
        if self.batch is not None and rows != self.batch:
            raise PieceError(
                "this program is of a fixed batch", expected=f"{self.batch} rows", found=str(rows)
            )
        tensors = list(leaves)
        if self.plan.needs_reward:
            earned = np.zeros(rows, np.float32) if reward is None else reward
            tensors.append(placed(earned, self.device).to(torch.float32))
        if self.plan.remembers:
            begins = np.zeros(rows, bool) if first is None else first
            tensors.append(placed(begins, self.device))
            tensors += [placed(state, self.device) for state in states]
        with torch.no_grad(), self._precision():
            outputs = self._run(*tensors)
        state_start = len(self.step.outputs) - len(self.plan.start)
        actions = nest.unflatten_as(self.step.action, list(outputs[:state_start]))
        if self.after:
            with self._turn:
                actions = _action_side(self.after, actions)
        return actions, tuple(outputs[state_start:])

    def error_of(self, obs: Nest) -> float:
        """The largest difference to the eager float32 step, of first actions for observations."""
        rows = len(nest.a_leaf(obs))
        first = np.ones(rows, bool)
        plain = Program(self.plan, device=self.device)
        plain.before, plain.after = self.before, self.after
        pairs = zip(
            nest.flatten(self(obs, self.start(rows), first=first)[0]),
            nest.flatten(plain(obs, plain.start(rows), first=first)[0]),
            strict=True,
        )
        gaps = [np.abs(xp.to_numpy(a).astype(np.float64) - xp.to_numpy(b)).max() for a, b in pairs]
        return float(max(gaps))

    def _precision(self) -> Any:
        kind = self.device.partition(":")[0]
        return torch.autocast(kind, torch.bfloat16, enabled=self.is_half)


def compile_actor(
    actor: Actor,
    *,
    batch: int | None = None,
    device: str = "cpu",
    backend: Backend = "eager",
    policy: str | None = None,
    precision: Literal["float32", "bfloat16"] = "float32",
    observation_space: Space[Any] | None = None,
) -> Program:
    """Compile the whole step of an actor's policy.

    Functions and connectors of a user's own are traced: they run here on samples, what they do to
    arrays becomes part of the program, and what they read beside is frozen. Where one has no tensor
    form the chain is split there, with a warning that names it and says why.

    Args:
        actor: What acts; it stays as it is.
        batch: How many rows, if that is fixed.
        device: Where to run.
        backend: See `Program`.
        policy: Which of several policies.
        precision: "bfloat16" computes the network in half the bits; see `Program.error_of`.
        observation_space: What the environment gives, where only functions of a user's own know
            it. If None it is what the policy was trained on, or the one width of vectors that they
            turn into that.

    Raises:
        PieceError: There is no plan to compile.
    """
    plan = plan_of(actor, policy, observation_space)
    before: list[Any] = []
    after: list[Any] = []
    if plan.missing:
        source: Any = actor.players[policy or next(iter(actor.players))]
        missing = visible(", ".join(plan.missing))
        plan, before, after = _split(source.policy)
        names = ", ".join(type(piece).__name__ for piece in (*before, *after))
        warnings.warn(
            f"the program of policy {plan.name!r} is split: {names} run item by item, "
            f"for lack of a tensor form: {missing}",
            SplitWarning,
            stacklevel=2,
        )
    is_half = precision == "bfloat16"
    program = Program(plan, batch=batch, device=device, backend=backend, is_half=is_half)
    program.before, program.after = before, after
    return program


def _split(policy: Policy) -> tuple[ActPlan, list[Any], list[Any]]:
    """The longest part of a policy around its network that has a tensor form, and the rest."""
    import copy

    copied = copy.deepcopy(policy)
    agent, action = copied.agent_connectors, copied.action_connectors
    assert agent is not None, "it has a plan"
    assert action is not None, "it has a plan"
    before: list[Any] = []
    after: list[Any] = []
    while (plan := traced_plan(copied)).missing:
        if agent.connectors and _lacks(plan, agent.connectors):
            before.append(agent.connectors.pop(0))
        elif action.connectors and _lacks(plan, action.connectors):
            after.insert(0, action.connectors.pop())
        else:
            raise PieceError(
                f"policy {policy.name!r} has no tensor form", found=", ".join(plan.missing)
            )
    return plan, before, after


def _lacks(plan: ActPlan, connectors: list[Any]) -> bool:
    names = {name.split(" ")[0] for name in plan.missing}
    return any(type(connector).__name__ in names for connector in connectors)


def _agent_side(connectors: list[Any], obs: Nest) -> Nest:
    from ...core.arrays.batching import batch, unbatch

    items = unbatch(nest.map_structure(xp.to_numpy, obs))
    records: Any = [
        AgentConnectorDataType(row, "agent", {"new_obs": item}) for row, item in enumerate(items)
    ]
    for connector in connectors:
        connector.in_eval()
        records = connector(records)
    return batch([record.data["new_obs"] for record in records])


def _action_side(connectors: list[Any], actions: Nest) -> Nest:
    from ...core.arrays.batching import batch, unbatch

    sent: list[Array] = []
    for row, action in enumerate(unbatch(nest.map_structure(xp.to_numpy, actions))):
        record: Any = ActionConnectorDataType(row, "agent", {}, (action, [], {}))
        for connector in connectors:
            record = connector(record)
        sent.append(record.output[0])
    return batch([nest.map_structure(np.asarray, action) for action in sent])
