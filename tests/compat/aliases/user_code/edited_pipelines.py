"""Pipelines edited in every way there is."""

from made import ACT, OBS
from ray.rllib.connectors.connector_pipeline_v2 import ConnectorPipelineV2
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.env_to_module import (
    AddObservationsFromEpisodesToBatch,
    BatchIndividualItems,
    FlattenObservations,
)


class Nothing(ConnectorV2):
    def __call__(self, *, rl_module, batch, episodes, **kwargs):
        return batch


class Other(Nothing):
    pass


def names(pipeline):
    return [type(piece).__name__ for piece in pipeline.connectors]


def run():
    pipeline = ConnectorPipelineV2(
        OBS, ACT, connectors=[AddObservationsFromEpisodesToBatch(), BatchIndividualItems()]
    )
    seen = [names(pipeline)]
    pipeline.prepend(Nothing())
    seen.append(names(pipeline))
    pipeline.insert_after(AddObservationsFromEpisodesToBatch, Other())
    pipeline.insert_before("BatchIndividualItems", FlattenObservations())
    seen.append(names(pipeline))
    pipeline.remove("Nothing")
    pipeline.append(Nothing())
    seen.append(names(pipeline))
    pipeline.connectors[0] = Other()
    pipeline.connectors.pop(1)
    seen.append(names(pipeline))
    return {"seen": seen, "length": len(pipeline)}
