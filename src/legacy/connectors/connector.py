"""The base classes of legacy connectors: one for what agents see, one for what policies answer.

Subclass `AgentConnector` or `ActionConnector` and override `transform`; give the class
`to_state` and `from_state` and register it (registry.py) to have it saved with a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import compress, dropwhile, takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import numpy as np
from typing_extensions import Self

from ...core.errors import PieceError
from ..batches.sample_batch import SampleBatch
from .context import ConnectorContext
from .rows import Rows
from .types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
    PolicyOutputType,
)

if TYPE_CHECKING:
    from ...core.step.part import Contribution

_ROOM: Final = __name__.rpartition(".")[0]


class Connector:
    """One step between environment and policy.

    Args:
        ctx: What the connector may know of its policy. A connector built without one gets the
            context of the pipeline it is put into.

    Example:
        >>> connector = AgentConnector()
        >>> connector.in_eval()
        >>> str(connector)
        'AgentConnector'
    """

    _ctx: ConnectorContext | None = None
    _is_training: bool = True
    is_idle: Any = False
    """Whether it changes nothing whatever passes; it counts for the very class that defines it."""
    last_edit: ClassVar[object] = object()
    """Another one whenever some connector is bound to a context, or switched to training."""

    def __init__(self, ctx: ConnectorContext | None = None) -> None:
        self._ctx = ctx
        self._is_training = True

    def bind(self, ctx: ConnectorContext) -> None:
        """Take `ctx` as the context; pipelines call it on connectors that were built without."""
        self._ctx = ctx
        Connector.last_edit = object()

    @property
    def is_bound(self) -> bool:
        """Whether it has a context."""
        return self._ctx is not None

    @property
    def ctx(self) -> ConnectorContext:
        """The context this connector was built with.

        Raises:
            PieceError: There is none yet.
        """
        if self._ctx is None:
            name = type(self).__name__
            raise PieceError(
                f"{name} has no context yet.",
                hint=f"build it as {name}(ctx), or put it into a pipeline first.",
            )
        return self._ctx

    def in_training(self) -> None:
        """Switch to training: connectors that learn from data (filters) do."""
        self._is_training = True
        Connector.last_edit = object()

    def in_eval(self) -> None:
        """Switch to evaluation: nothing learns from the data that passes."""
        self._is_training = False

    def is_training(self, is_training: bool) -> None:
        """The switch as Ray 2.0 spelled it."""
        if is_training:
            self.in_training()
        else:
            self.in_eval()

    def part(self) -> Contribution | None:
        """Return the connector's computation as data; None if it supports only records.

        If all connectors of a pipeline return a part, a plan runs them on batches, compiled or on a
        device. Subclasses that override `transform` have to override this method as well.
        """
        return None

    def __str__(self, indentation: int = 0) -> str:
        return " " * indentation + type(self).__name__

    def to_state(self) -> tuple[str, Any]:
        """The connector as plain data: its registered name and what `from_state` needs."""
        name = type(self).__name__
        raise PieceError(
            f"{name} cannot be saved: it has no to_state().",
            hint=f"return ({name!r}, params) from it and take params in from_state(ctx, params).",
        )

    def serialize(self) -> tuple[str, Any]:
        """Another name of `to_state`."""
        return self.to_state()

    def lacks(self, space: str) -> PieceError:
        """The error for a context without one of its spaces: "observation" or "action"."""
        return PieceError(
            f"{type(self).__name__} does not know the {space} space.",
            hint=f"pass an {space}_space to the context.",
        )

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> Connector:
        """The connector that `to_state` described, in another context."""
        raise PieceError(
            "this connector cannot be restored: it has no from_state().",
            hint="define a static method from_state(ctx, params) in its class.",
        )


class FromContext(Connector):
    """A connector that holds nothing to save: its context says all.

    A subclass of the user's is saved as the library's class it derives from, as in RLlib.
    """

    def to_state(self) -> tuple[str, Any]:
        """Its name in the library."""
        kinds = type(self).__mro__
        return next(each.__name__ for each in kinds if each.__module__.startswith(_ROOM)), None

    @classmethod
    def from_state(cls, ctx: ConnectorContext, params: Any) -> Self:
        """A connector in the context `ctx`."""
        return cls(ctx)


class AgentConnector(Connector):
    """A step from what agents see towards what the policy takes.

    Override `transform` to work on one agent at a time, or `__call__` to see all agents of a
    policy together; the latter may return fewer or more records than it got.

    Example:
        >>> class Halve(AgentConnector):
        ...     def transform(self, ac_data):
        ...         halved = {**ac_data.data, "rewards": ac_data.data["rewards"] / 2}
        ...         return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, halved)
        >>> Halve()([AgentConnectorDataType("env", "agent", {"rewards": 4.0})])[0].data
        {'rewards': 2.0}
    """

    works_on_all: ClassVar[bool] = False
    hears_all: ClassVar[bool] = False
    builds: ClassVar[bool] = False
    """Whether it ends a pipeline: what the policy looks at is built, and columns stay."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.works_on_all = offers(cls, "transform_all", ("transform", "__call__"))
        cls.hears_all = offers(cls, "hear_all", ("on_policy_output",))

    def reset(self, env_id: Any) -> None:
        """Forget what is kept for `env_id`; called when an episode of it starts."""

    def on_policy_output(self, output: ActionConnectorDataType) -> None:
        """Take note of what the policy answered, before action connectors change it."""

    def stop_checking(self) -> None:
        """Take observations from outside of their space, too; most connectors do anyway."""

    def episode(self, env_id: Any, agent_id: Any) -> Any:
        """Return an object that identifies an agent's running episode; it changes at each reset.

        Return None if the connector stores nothing per episode.
        """
        return None

    def __call__(self, acd_list: Sequence[AgentConnectorDataType]) -> list[AgentConnectorDataType]:
        """Transform the records of all agents that share this policy."""
        records = self.checked_list(acd_list)
        if self.works_on_all and len(records) > 1:
            rows = Rows.of(records)
            if rows is not None:
                self.transform_all(rows)
                return rows.as_list()
        transform = self.transform
        return [transform(record) for record in records]

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Transform the record of one agent."""
        raise PieceError(
            f"{type(self).__name__} does nothing.", hint="override transform() or __call__()."
        )

    def transform_all(self, rows: Rows) -> None:
        """Change the columns of all agents, in place, as `transform` would one by one.

        An offer to be fast, not a second meaning: it counts where it was written for the very
        `transform` that the connector has.
        """
        raise PieceError(
            f"{type(self).__name__} works on one record at a time.",
            hint="call it, or override both transform() and transform_all().",
        )

    def hear_all(self, rows: Rows, output: PolicyOutputType) -> None:
        """Observe the policy's outputs for all agents; an optional batched form."""

    def checked_list(
        self, acd_list: Sequence[AgentConnectorDataType]
    ) -> Sequence[AgentConnectorDataType]:
        """`acd_list` itself, once it is known to be a list or tuple.

        Raises:
            PieceError: It is something else, a lone record most likely.
        """
        if not isinstance(acd_list, (list, tuple)):
            raise PieceError(
                f"{type(self).__name__} cannot be called like this",
                expected="a list of AgentConnectorDataType",
                found=type(acd_list).__name__,
                hint="put the record into a list.",
            )
        return acd_list


class ActionConnector(Connector):
    """A step from what the policy answered towards what the environment takes.

    Override `transform` (or `__call__`, which does the same here).

    Example:
        >>> class Double(ActionConnector):
        ...     def transform(self, ac_data):
        ...         actions, states, fetches = ac_data.output
        ...         return ActionConnectorDataType(
        ...             ac_data.env_id, ac_data.agent_id, ac_data.input_dict,
        ...             (2 * actions, states, fetches))
        >>> Double()(ActionConnectorDataType("env", "agent", {}, (4, [], {}))).output
        (8, [], {})
    """

    works_on_all: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.works_on_all = offers(cls, "transform_all", ("transform", "__call__"))

    def __call__(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        """Transform what the policy answered for one agent."""
        return self.transform(ac_data)

    def transform(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        """Transform what the policy answered for one agent."""
        raise PieceError(
            f"{type(self).__name__} does nothing.", hint="override transform() or __call__()."
        )

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Transform an answer, or those for many agents with a leading axis on each leaf.

        An offer to be fast, not a second meaning; see `AgentConnector.transform_all`.
        """
        raise PieceError(
            f"{type(self).__name__} works on one answer at a time.",
            hint="call it, or override both transform() and transform_all().",
        )


def offers(kind: type, offer: str, meanings: tuple[str, ...]) -> bool:
    """Return True if a class defines a fast method that is consistent with its other methods.

    A subclass that overrides only one of `meanings` changes the behavior, so that the inherited
    fast method no longer applies.
    """
    for each in kind.__mro__:
        if offer in vars(each):
            return each not in (AgentConnector, ActionConnector)
        if not vars(each).keys().isdisjoint(meanings):
            return False
    return False


def works_on_all(connector: Any) -> bool:
    """Whether a connector works on all agents of a batch at once."""
    # Asked of the class: an object that hands attributes on to a connector has its own call.
    return getattr(type(connector), "works_on_all", False)


ARRAYS: Final = (np.ndarray, np.generic)

Change: TypeAlias = Callable[[Any, Any, dict[str, Any]], dict[str, Any]]
"""From an environment, an agent and its columns to what becomes of these."""


class Plan:
    """Precomputed execution plan of the connectors in a pipeline.

    Attributes:
        connectors: The connectors, in order.
        edit: Number of the last change to a connector.
        is_flat: Whether a step of one agent can run without records.
        is_evaluating: Whether all connectors are in evaluation mode.
    """

    is_flat = False
    is_evaluating = False

    def __init__(self, connectors: Sequence[Any]) -> None:
        self.edit, self.connectors = Connector.last_edit, list(connectors)


class AgentPlan(Plan):
    """Execution plan of agent connectors.

    Attributes:
        working: The connectors that change something.
        takes_rows: Whether all of them support batches.
        listeners: The connectors that observe the policy's outputs.
    """

    def __init__(self, connectors: Sequence[Any]) -> None:
        super().__init__(connectors)
        self.working = _at_work(connectors)
        # Only the last one may build the batch: who comes behind it is given records.
        self.takes_rows = all(map(works_on_all, connectors)) and not any(
            getattr(each, "builds", False) for each in connectors[:-1]
        )
        takes_columns = [getattr(type(each), "takes_columns", False) for each in connectors]
        self.is_flat = bool(takes_columns) and all(takes_columns) and connectors[-1].has_builder
        deaf = AgentConnector.on_policy_output
        hears = [getattr(type(each), "on_policy_output", None) is not deaf for each in connectors]
        self.listeners = [*compress(connectors, hears)]

    @cached_property
    def changes(self) -> list[Change]:
        """Functions to apply to one agent's columns, if the plan is flat."""
        return [each.transform_columns for each in self.working[:-1]]

    @cached_property
    def build(self) -> Change:
        """The function that builds a batch of one row from these columns."""
        build: Change = self.connectors[-1].builder.build_one
        return build

    @cached_property
    def hear(self) -> list[Callable[[ActionConnectorDataType], None]]:
        """The functions that observe the policy's output for one agent."""
        return [each.on_policy_output for each in self.listeners]

    def passed(self, record: AgentConnectorDataType) -> AgentConnectorDataType:
        """Apply the plan to the record of one agent, if the plan is flat."""
        env_id, agent_id, columns = record.env_id, record.agent_id, record.data
        for change in self.changes:
            columns = change(env_id, agent_id, columns)
        batch = SampleBatch.of(self.build(env_id, agent_id, columns))
        return AgentConnectorDataType(env_id, agent_id, AgentConnectorsOutput(columns, batch))


class AnswerPlan(Plan):
    """Execution plan of action connectors: formulas, then connectors for single actions.

    Attributes:
        formulas: The formulas.
        on_arrays: The formulas that change arrays, not only tensors.
        alone: The connectors that process one action at a time.
    """

    def __init__(self, connectors: Sequence[Any]) -> None:
        super().__init__(connectors)
        working = _at_work([*takewhile(works_on_all, connectors)])
        self.alone = [*dropwhile(works_on_all, connectors)]
        self.is_flat = not self.alone
        self.formulas = [each.transform_all for each in working]
        kept = [each for each in working if not vars(type(each)).get("is_for_tensors", False)]
        self.on_arrays = [each.transform_all for each in kept]

    def passed(self, output: PolicyOutputType) -> PolicyOutputType:
        """Apply the formulas to the output for one agent or for a batch."""
        is_array = isinstance(output[0], ARRAYS) and not output[1]
        for formula in self.on_arrays if is_array else self.formulas:
            output = formula(output)
        return output


def _at_work(connectors: Sequence[Any]) -> list[Any]:
    """Return the connectors that change something, or do not declare that they do not.

    The declaration applies only to the class that defines it, not to subclasses.
    """
    return [each for each in connectors if not ("is_idle" in vars(type(each)) and each.is_idle)]
