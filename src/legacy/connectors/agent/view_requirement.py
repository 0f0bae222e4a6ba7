"""Build the columns a policy looks at, out of what each agent saw and did before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from ....core import nest
from ....core.errors import PieceError
from ....core.step.part import Contribution
from ....core.step.recall import Column, Look
from ....core.types import Array
from ...batches.sample_batch import SampleBatch
from ...batches.step_rows import joined_batches
from ...views.views import ViewPlan
from ..connector import FromContext
from ..context import ConnectorContext
from ..rows import Rows
from ..types import AgentConnectorsOutput
from .columns import ColumnsAgentConnector
from .view_builder import Slot, ViewBuilder

_REMEMBERED: Final = frozenset({"obs", "actions", "rewards"})
"""What a plan can remember, beside states."""


class KeptHistory:
    """What is kept of one agent's running episode, to look at.

    Attributes:
        agent_steps: Steps after the first observation.
    """

    def __init__(self, builder: ViewBuilder | None, slot: Slot | None) -> None:
        self._builder, self._slot = builder, slot
        self.agent_steps = 0 if slot is None else slot.steps

    def is_empty(self) -> bool:
        """Whether the episode has not begun."""
        return self._slot is None

    @property
    def buffers(self) -> dict[str, list[Array]]:
        """Rows by column, oldest first, one array a leaf: as many as some view looks back."""
        if self._builder is None or self._slot is None:
            return {}
        return self._builder.buffers_of(self._slot)


class ViewRequirementAgentConnector(FromContext, ColumnsAgentConnector):
    """Turn the record of each agent into the batch of one row that the policy acts on.

    What an agent saw and did is kept per environment and agent, as far back as some view looks.
    The first record after `reset` starts a history. A list of records is worked on as one batch.

    Example:
        >>> from rlconnect.legacy import AgentConnectorDataType, ViewRequirement
        >>> views = {"obs": ViewRequirement(), "last": ViewRequirement("rewards", shift=-1)}
        >>> connector = ViewRequirementAgentConnector(ConnectorContext(view_requirements=views))
        >>> record = AgentConnectorDataType("env", "agent", {"new_obs": 3.0, "rewards": 2.0})
        >>> for _ in range(2):
        ...     batch = connector([record])[0].data.sample_batch
        >>> batch["obs"], batch["last"]
        (array([3.], dtype=float32), array([2.], dtype=float32))
    """

    builds = True
    _builder: ViewBuilder | None = None

    def bind(self, ctx: ConnectorContext) -> None:
        """Take `ctx`; its views are planned at the first record."""
        super().bind(ctx)
        self._builder = None

    def reset(self, env_id: Any) -> None:
        """Forget all agents of `env_id`."""
        if self._builder is not None:
            self._builder.reset(env_id)

    def transform_all(self, rows: Rows) -> None:
        """Build the batch of all agents, one column at a time."""
        builder = self.builder
        count = len(rows.slots)
        slots = builder.slots_of(rows.slots)
        if len(set(slots if all(slots) else rows.slots)) == count:
            columns = builder.build(rows, slots)
        else:  # one agent twice: in order
            columns = joined_batches([builder.build(rows.only(row)) for row in range(count)])
        rows.build(columns)

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Build the batch of one agent."""
        batch = self.builder.build_one(env_id, agent_id, columns)
        return AgentConnectorsOutput(columns, SampleBatch.of(batch))

    @property
    def builder(self) -> ViewBuilder:
        """What builds the policy's columns, and keeps what views look back at."""
        return self._builder or self._make_builder()

    @property
    def agent_collectors(self) -> dict[Any, dict[Any, KeptHistory]]:
        """What is kept of each agent, by environment and agent; empty for one not seen yet."""
        builder = self._builder

        def of_env(env_id: Any, agents: Sequence[Any]) -> dict[Any, KeptHistory]:
            slots = builder.slots_of([(env_id, agent) for agent in agents]) if builder else []
            histories: dict[Any, KeptHistory] = defaultdict(lambda: KeptHistory(None, None))
            histories.update(
                {a: KeptHistory(builder, slot) for a, slot in zip(agents, slots, strict=True)}
            )
            return histories

        by_env = builder.agents() if builder is not None else {}
        collectors: dict[Any, dict[Any, KeptHistory]] = defaultdict(lambda: of_env(None, ()))
        collectors.update({env_id: of_env(env_id, agents) for env_id, agents in by_env.items()})
        return collectors

    def episode(self, env_id: Any, agent_id: Any) -> Any:
        """What stands for an agent's running episode, another object after each reset."""
        if self._builder is None:
            return None
        return self._builder.slots_of([(env_id, agent_id)])[0]

    def part(self) -> Contribution:
        """The columns that some view looks back at, and the views."""
        depths: dict[str, int] = {}
        starts: dict[str, Any] = {}
        looks: list[Look] = []
        missing: list[str] = []
        for view in self._plan().views:
            if view.name == "obs" and view.is_current:
                continue
            if not (view.column in _REMEMBERED or view.column.startswith("state_out_")):
                missing.append(f"the view {view.name!r} of {view.column!r}")
                continue
            if view.is_unknown:
                looks.append(Look(view.name, "", missing=nest.taken(view.missing, 0)))
                continue
            looks.append(Look(view.name, view.column, view.offsets, view.unknown))
            depths[view.column] = max(depths.get(view.column, 1), 1 - min(view.offsets))
            starts[view.column] = None if view.column == "obs" else nest.taken(view.initial, 0)
        columns = tuple(Column(name, depth, starts[name]) for name, depth in depths.items())
        return Contribution(columns=columns, looks=tuple(looks), missing=tuple(missing))

    def _make_builder(self) -> ViewBuilder:
        ctx = self.ctx
        # A policy of an RLModule lists every column as needed to act, and reads "obs" only.
        is_lenient = ctx.setting("_enable_rl_module_api") or ctx.setting(
            "enable_rl_module_and_learner"
        )
        self._builder = ViewBuilder(
            self._plan(),
            flatten_actions=self._flattens(),
            fill_missing=bool(is_lenient),
            is_recurrent=ctx.is_policy_recurrent,
        )
        return self._builder

    def _plan(self) -> ViewPlan:
        ctx = self.ctx
        if ctx.view_requirements is None:
            raise PieceError(
                "ViewRequirementAgentConnector needs to know what the policy looks at.",
                hint="give the context view_requirements, or take ConnectorContext.from_policy().",
            )
        return ViewPlan.for_inference(
            ctx.view_requirements, ctx.initial_states, flatten_actions=self._flattens()
        )

    def _flattens(self) -> bool:
        return not self.ctx.setting("_disable_action_flattening", False)
