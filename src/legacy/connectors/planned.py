"""What the connectors of a pipeline come to: functions one after the other, found out once.

A plan holds until the list of connectors changes, or one is bound to a context or switched to
training. Connectors that change nothing are left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import compress, dropwhile, takewhile
from typing import Any, Final, TypeAlias

import numpy as np

from ..batches.sample_batch import SampleBatch
from .connector import AgentConnector, Connector, works_on_all
from .types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
    PolicyOutputType,
)

ARRAYS: Final = (np.ndarray, np.generic)

Change: TypeAlias = Callable[[Any, Any, dict[str, Any]], dict[str, Any]]
"""From an environment, an agent and its columns to what becomes of these."""


class Plan:
    """What connectors of either kind come to.

    Attributes:
        connectors: Those it was made of, in order.
        edit: The last edit of a connector before that.
        is_flat: Whether one agent's step can go by its functions, without records.
        is_evaluating: Whether all are known to be switched to evaluation.
    """

    is_flat = False
    is_evaluating = False

    def __init__(self, connectors: Sequence[Any]) -> None:
        self.edit, self.connectors = Connector.last_edit, list(connectors)


class AgentPlan(Plan):
    """What agent connectors come to.

    Attributes:
        working: Those that change something.
        takes_rows: Whether all of them work on all agents at once.
        listeners: Those that take note of answers.
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
        """What is done to one agent's columns, if the plan is flat."""
        return [each.transform_columns for each in self.working[:-1]]

    @cached_property
    def build(self) -> Change:
        """What makes a batch of one row of them, then."""
        build: Change = self.connectors[-1].builder.build_one
        return build

    @cached_property
    def hear(self) -> list[Callable[[ActionConnectorDataType], None]]:
        """What takes note of one agent's answer."""
        return [each.on_policy_output for each in self.listeners]

    def passed(self, record: AgentConnectorDataType) -> AgentConnectorDataType:
        """What becomes of one agent's record, if the plan is flat."""
        env_id, agent_id, columns = record.env_id, record.agent_id, record.data
        for change in self.changes:
            columns = change(env_id, agent_id, columns)
        batch = SampleBatch.of(self.build(env_id, agent_id, columns))
        return AgentConnectorDataType(env_id, agent_id, AgentConnectorsOutput(columns, batch))


class AnswerPlan(Plan):
    """What action connectors come to: formulas on answers, then what wants one answer at a time.

    Attributes:
        formulas: The former.
        on_arrays: Those of them that change more than tensors.
        alone: The latter.
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
        """What the formulas make of an answer, or of those for many agents."""
        is_array = isinstance(output[0], ARRAYS) and not output[1]
        for formula in self.on_arrays if is_array else self.formulas:
            output = formula(output)
        return output


def _at_work(connectors: Sequence[Any]) -> list[Any]:
    """The connectors that change something, or do not say that they don't.

    It counts for the very class that says so: a subclass may do anything else.
    """
    return [each for each in connectors if not ("is_idle" in vars(type(each)) and each.is_idle)]
