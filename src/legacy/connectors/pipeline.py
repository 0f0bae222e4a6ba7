"""Editable, ordered lists of legacy connectors that act as one connector."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from ...core.errors import PipelineError
from ...core.runtime.sessions import MAX_SESSIONS, Sessions
from ...core.runtime.sharing import Turn
from ...core.text.near_names import did_you_mean
from ...core.text.visible import visible_lines
from .connector import (
    ActionConnector,
    AgentConnector,
    AgentPlan,
    AnswerPlan,
    Connector,
    Plan,
    works_on_all,
)
from .context import ConnectorContext
from .rows import Rows, answers_of, output_rows
from .timers import Timer
from .types import ActionConnectorDataType, AgentConnectorDataType, PolicyOutputType

if TYPE_CHECKING:
    from ...core.pages.figure import Figure

_INDENT = 4


class UnsupportedIndexError(PipelineError, NotImplementedError):
    """A pipeline indexed with something else than a position, a name or a class."""


class ConnectorPipeline(Connector):
    """An ordered list of connectors.

    `connectors` is a plain list: what is done to it counts at the next call. Threads that share
    a pipeline take turns.

    Args:
        ctx: The context; connectors that were built without one get it too.
        connectors: In the order they run.

    Example:
        >>> from rlconnect.legacy.connectors.action.clip import ClipActionsConnector
        >>> from rlconnect.legacy.connectors.action.immutable import ImmutableActionsConnector
        >>> pipeline = ActionConnectorPipeline(ConnectorContext(), [ClipActionsConnector()])
        >>> pipeline.insert_after("ClipActionsConnector", ImmutableActionsConnector())
        >>> print(pipeline)
        ActionConnectorPipeline
            ClipActionsConnector
            ImmutableActionsConnector
    """

    kept_timers: defaultdict[str, Timer] | None = None

    def __init__(
        self, ctx: ConnectorContext | None = None, connectors: Iterable[Connector] = ()
    ) -> None:
        super().__init__(ctx)
        self.connectors: list[Any] = list(connectors)
        for connector in self.connectors:
            self._adopt(connector)

    @cached_property
    def turn(self) -> Turn:
        """Held by the thread whose records pass; a subclass may leave out this constructor."""
        return Turn()

    @property
    def timers(self) -> defaultdict[str, Timer]:
        """How long each connector takes, by what `str` gives of it, from the first look on."""
        if self.kept_timers is None:
            self.kept_timers = defaultdict(Timer)
        return self.kept_timers

    def _clock(self, connector: Any) -> AbstractContextManager[Any]:
        return nullcontext() if self.kept_timers is None else self.kept_timers[str(connector)]

    def bind(self, ctx: ConnectorContext) -> None:
        """Take `ctx`, and hand it to the connectors that have none."""
        super().bind(ctx)
        for connector in self.connectors:
            self._adopt(connector)

    def in_training(self) -> None:
        """Switch all connectors to training."""
        super().in_training()
        for connector in self.connectors:
            connector.in_training()

    def in_eval(self) -> None:
        """Switch all connectors to evaluation."""
        self._is_training = False
        for connector in self.connectors:
            connector.in_eval()

    _plan: Any = None
    _plan_of: ClassVar[type[Plan]] = Plan

    def current_plan(self) -> Any:
        """The current execution plan of the connectors."""
        plan = self._plan
        if (
            plan is None
            or plan.edit is not Connector.last_edit
            or plan.connectors != self.connectors
        ):
            plan = self._plan = self._plan_of(self.connectors)
        return plan

    def in_step(self) -> Any:
        """Switch all connectors to evaluation, and give the plan of a step that needs no records.

        None where somebody would see them.
        """
        plan = self.current_plan()
        if not plan.is_evaluating:
            self.in_eval()
            switches = {getattr(type(each), "in_eval", None) for each in self.connectors}
            plan.is_evaluating = switches <= {Connector.in_eval}
        return plan if plan.is_flat and self.kept_timers is None and type(self) in _PLAIN else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_plan"}

    def reset(self, env_id: Any) -> None:
        """Let every connector forget what it keeps for `env_id`."""
        with self.turn:
            for connector in self.connectors:
                forget = getattr(connector, "reset", None)
                if forget is not None:
                    forget(env_id)

    def remove(self, name: str | type) -> None:
        """Remove the first connector of that class name; warns if there is none."""
        try:
            position = self._position(name)
        except PipelineError as error:
            warnings.warn(visible_lines(str(error)), UserWarning, stacklevel=2)
            return
        del self.connectors[position]

    def insert_before(self, name: str | type, connector: Connector) -> None:
        """Put `connector` before the first one of class `name`.

        Raises:
            PipelineError: There is none of that name.
        """
        self.connectors.insert(self._position(name), self._adopt(connector))

    def insert_after(self, name: str | type, connector: Connector) -> None:
        """Put `connector` after the first one of class `name`.

        Raises:
            PipelineError: There is none of that name.
        """
        self.connectors.insert(self._position(name) + 1, self._adopt(connector))

    def prepend(self, connector: Connector) -> None:
        """Put `connector` first."""
        self.connectors.insert(0, self._adopt(connector))

    def append(self, connector: Connector) -> None:
        """Put `connector` last."""
        self.connectors.append(self._adopt(connector))

    def __getitem__(self, key: str | int | type) -> list[Any]:
        """The connectors at a position, of a class name, or of a class and its subclasses.

        Raises:
            PipelineError: `key` is none of these, or a position beyond the end.
        """
        if isinstance(key, str):
            return [each for each in self.connectors if type(each).__name__ == key]
        if isinstance(key, int):
            try:
                return [self.connectors[key]]
            except IndexError:
                raise PipelineError(
                    f"{type(self).__name__} has no position {key}.",
                    hint=f"it holds {len(self.connectors)} connectors.",
                ) from None
        if isinstance(key, type):
            return [each for each in self.connectors if issubclass(type(each), key)]
        raise UnsupportedIndexError(
            f"{type(self).__name__} cannot be indexed like this",
            expected="a position, a class name or a class",
            found=type(key).__name__,
        )

    def __len__(self) -> int:
        return len(self.connectors)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {', '.join(type(each).__name__ for each in self.connectors)}>"
        )

    def __str__(self, indentation: int = 0) -> str:
        lines = [super().__str__(indentation)]
        lines += [each.__str__(indentation + _INDENT) for each in self.connectors]
        return "\n".join(lines)

    def explain(self) -> str:
        """Return one line per connector with how it runs, and why.

        An `Actor` or a compiled program runs planned connectors as data. If one has no plan, an
        `Actor` runs all connectors one record at a time.
        """
        from .drawing import how_it_runs

        return "\n".join(f"{type(each).__name__}: {how_it_runs(each)}" for each in self.connectors)

    def draw(self) -> Figure:
        """The connectors as boxes, with what leaves each on the arrow behind it."""
        from .drawing import draw_pipeline

        return draw_pipeline(self)

    def _repr_html_(self) -> str:
        return self.draw()._repr_html_()

    def to_state(self) -> tuple[str, Any]:
        """The pipeline's class name, and each connector as its own name and params."""
        with self.turn:
            return type(self).__name__, [each.to_state() for each in self.connectors]

    def _adopt(self, connector: Connector) -> Connector:
        """Return `connector`, with the context of this pipeline if it has none."""
        needs = isinstance(connector, Connector) and not connector.is_bound
        if needs and self.is_bound:
            connector.bind(self.ctx)
        return connector

    def _position(self, name: str | type) -> int:
        asked_name = name if isinstance(name, str) else name.__name__
        names = [type(each).__name__ for each in self.connectors]
        if asked_name in names:
            return names.index(asked_name)
        raise PipelineError(
            f"{type(self).__name__} holds no connector {asked_name!r}",
            expected="one of " + ", ".join(names) if names else "a connector to aim at",
            found=repr(asked_name),
            hint=did_you_mean(asked_name, names, otherwise="print the pipeline to see its order."),
            name=asked_name,
        )


class AgentConnectorPipeline(ConnectorPipeline, AgentConnector):
    """Agent connectors in a row, from the environment to the policy.

    Attributes:
        sessions: The environments that something is remembered of; `sessions.most` says of how
            many at most, by the least recent use.

    Example:
        >>> from rlconnect.legacy.connectors.agent.clip_reward import ClipRewardAgentConnector
        >>> pipeline = AgentConnectorPipeline(ConnectorContext(), [ClipRewardAgentConnector()])
        >>> pipeline(
        ...     [AgentConnectorDataType("env", "agent", {"rewards": 4.0})]
        ... )[0].data["rewards"]
        4.0
    """

    def __init__(
        self, ctx: ConnectorContext | None = None, connectors: Iterable[Connector] = ()
    ) -> None:
        super().__init__(ctx, connectors)
        self.sessions = Sessions(MAX_SESSIONS, "an agent pipeline")

    _plan_of = AgentPlan

    def reset(self, env_id: Any) -> None:
        """Let every connector forget what it keeps for `env_id`."""
        with self.turn:
            super().reset(env_id)
            self.sessions.forget(env_id)

    def on_policy_output(self, output: ActionConnectorDataType) -> None:
        """Tell every connector what the policy answered."""
        with self.turn:
            for hear in self.current_plan().hear:
                hear(output)

    def hear_all(self, rows: Rows, output: PolicyOutputType) -> None:
        """Tell every connector that listens what the policy answered for many agents."""
        listeners: list[Any] = []
        if type(self).on_policy_output is not AgentConnectorPipeline.on_policy_output:
            listeners = [self.on_policy_output]
        else:
            for connector in self.current_plan().listeners:
                if getattr(type(connector), "hears_all", False):
                    connector.hear_all(rows, output)
                else:
                    listeners.append(connector.on_policy_output)
        if listeners:
            for answer in answers_of(rows.slots, rows.raw(), output):
                for hear in listeners:
                    hear(answer)

    def __call__(self, acd_list: Sequence[AgentConnectorDataType]) -> list[AgentConnectorDataType]:
        """Run the records through the connectors in order."""
        records = self.checked_list(acd_list)
        with self.turn:
            self._use([record.env_id for record in records])
            if len(records) == 1:
                plan = self.current_plan()
                is_plain = plan.is_flat and self.kept_timers is None
                if is_plain and isinstance(records[0].data, dict):
                    return [plan.passed(records[0])]
            elif (rows := Rows.of(records)) is not None:
                passed = self.passed(rows)
                return passed.as_list() if isinstance(passed, Rows) else passed
            for connector in self.connectors:
                with self._clock(connector):
                    records = connector(records)
        return records  # type: ignore[return-value]  # whatever kind of list they give

    def passed(
        self, rows: Rows | list[AgentConnectorDataType]
    ) -> Rows | list[AgentConnectorDataType]:
        """Apply the connectors to rows or records, in batches as far as they support them."""
        plan = self.current_plan()
        if plan.takes_rows and self.kept_timers is None and type(rows) is Rows:
            for connector in plan.working:
                connector.transform_all(rows)
            return rows
        for connector in self.connectors:
            with self._clock(connector):
                rows = _called(connector, rows)
        return rows

    def _use(self, env_ids: Sequence[Any]) -> None:
        for env_id in self.sessions.use(env_ids):
            self.reset(env_id)

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> AgentConnectorPipeline:
        """The pipeline that `to_state` described, its connectors looked up by name."""
        return AgentConnectorPipeline(ctx, _children("AgentConnectorPipeline", ctx, params))


class ActionConnectorPipeline(ConnectorPipeline, ActionConnector):
    """Action connectors in a row, from the policy to the environment.

    Example:
        >>> pipeline = ActionConnectorPipeline(ConnectorContext())
        >>> pipeline(ActionConnectorDataType("env", "agent", {}, (1, [], {}))).output
        (1, [], {})
    """

    _plan_of = AnswerPlan

    def __call__(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        """Run the policy's answer through the connectors in order."""
        with self.turn:
            if self.kept_timers is None:
                plan = self.current_plan()
                ac_data = ac_data.with_output(plan.passed(ac_data.output))
                for connector in plan.alone:
                    ac_data = connector(ac_data)
                return ac_data
            for connector in self.connectors:
                with self._clock(connector):
                    ac_data = connector(ac_data)
            return ac_data

    def transform_answers(self, rows: Rows, output: PolicyOutputType) -> list[PolicyOutputType]:
        """Apply the action connectors to the policy's outputs for a batch.

        Connectors run on the whole batch up to the first one that does not support batches; after
        it, the output of each agent is processed separately.

        Args:
            rows: The agents and the inputs of the policy.
            output: The outputs, with a leading batch axis on each leaf.
        """
        alone: list[Any] = [self]
        is_plain = type(self).__call__ is ActionConnectorPipeline.__call__
        if is_plain and self.kept_timers is None:
            plan = self.current_plan()
            output, alone = plan.passed(output), plan.alone
            if not alone:
                return output_rows(output, len(rows.slots))
        records = answers_of(rows.slots, rows.raw(), output)
        for connector in alone:
            records = [connector(record) for record in records]
        return [record.output for record in records]

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ActionConnectorPipeline:
        """The pipeline that `to_state` described, its connectors looked up by name."""
        return ActionConnectorPipeline(ctx, _children("ActionConnectorPipeline", ctx, params))


_PLAIN = (AgentConnectorPipeline, ActionConnectorPipeline)
"""Pipelines whose intermediate data only their connectors can see."""


def _called(
    connector: Any, rows: Rows | list[AgentConnectorDataType]
) -> Rows | list[AgentConnectorDataType]:
    """Apply one connector to rows or records."""
    if works_on_all(connector):
        as_rows = rows if isinstance(rows, Rows) else Rows.of(rows)
        if as_rows is not None and as_rows.built is None:
            connector.transform_all(as_rows)
            return as_rows
    outputs: list[AgentConnectorDataType]
    outputs = connector(rows.as_list() if isinstance(rows, Rows) else rows)
    return outputs


def _children(pipeline: str, ctx: ConnectorContext, params: Any) -> list[Connector]:
    from .registry import get_connector  # the registry's table names these very classes

    build: Callable[..., Connector] = get_connector
    if not isinstance(params, (list, tuple)):
        raise PipelineError(
            f"{pipeline} cannot be restored",
            expected="a list of (name, params) pairs",
            found=type(params).__name__,
        )
    for child in params:
        if not (isinstance(child, (list, tuple)) and len(child) == 2):
            raise PipelineError(
                f"{pipeline} cannot be restored: one of its connectors is not a pair",
                expected="(name, params)",
                found=repr(child)[:80],
            )
    return [build(name, ctx, child_params) for name, child_params in params]
