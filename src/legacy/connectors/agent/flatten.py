"""List the leaves of the network's input: the batch axis of Ray's first connectors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....core import nest
from ....core.errors import PieceError
from ....core.step.part import NOTHING, Contribution
from ...batches.sample_batch import SampleBatch
from ...batches.step_rows import zero_of
from ..connector import AgentConnector, FromContext
from ..types import AgentConnectorDataType, AgentConnectorsOutput

_KEPT: Final = ("actions", "infos", "seq_lens")


class FlattenDataAgentConnector(FromContext, AgentConnector):
    """Put the leaves of every column of the policy's batch into one array.

    A column without nesting gains a leading axis of one; equal leaves are stacked along it, and
    unequal ones become one vector. Actions, infos, "seq_lens" and "state_out_i" stay as they
    are, and so does a column that is None.

    Example:
        >>> output = AgentConnectorsOutput({}, SampleBatch({"obs": np.ones(2)}))
        >>> record = AgentConnectorDataType("env", "agent", output)
        >>> FlattenDataAgentConnector()([record])[0].data.sample_batch["obs"]
        array([[1., 1.]])
    """

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Flatten the batch of one record."""
        output = ac_data.data
        if not isinstance(output, AgentConnectorsOutput):
            raise PieceError(
                "FlattenDataAgentConnector must come after ViewRequirementAgentConnector",
                expected="AgentConnectorsOutput",
                found=type(output).__name__,
            )
        columns = {}
        for name, column in dict.items(output.sample_batch):
            stays = column is None or name in _KEPT or name.startswith("state_out_")
            columns[name] = column if stays else _flatten(column)
        flat = AgentConnectorsOutput(output.raw_dict, SampleBatch.of(columns))
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, flat)

    def part(self) -> Contribution | None:
        """Nothing, where observations are one array: a plan's have their leading axis."""
        space = self.ctx.observation_space
        return NOTHING if space is not None and nest.is_leaf(zero_of(space)) else None


def _flatten(column: Any) -> Any:
    leaves = [np.asarray(leaf) for leaf in nest.flatten(column)]
    if len({leaf.shape for leaf in leaves}) == 1:
        return np.stack(leaves)
    return np.concatenate([leaf.reshape(-1) for leaf in leaves])[None]
