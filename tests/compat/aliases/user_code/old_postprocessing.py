"""Batches of the old stack: joined, cut, padded, with advantages."""

import numpy as np
from ray.rllib.evaluation.postprocessing import (
    Postprocessing,
    compute_advantages,
    discount_cumsum,
)
from ray.rllib.policy.rnn_sequencing import chop_into_sequences
from ray.rllib.policy.sample_batch import DEFAULT_POLICY_ID, SampleBatch, concat_samples


def batch(start):
    steps = np.arange(start, start + 4)
    return SampleBatch(
        {
            SampleBatch.OBS: np.stack([steps, -steps], 1).astype(np.float32),
            SampleBatch.ACTIONS: steps % 3,
            SampleBatch.REWARDS: np.sin(steps).astype(np.float32),
            SampleBatch.VF_PREDS: np.cos(steps).astype(np.float32),
            SampleBatch.EPS_ID: np.full(4, start),
            SampleBatch.TERMINATEDS: steps == start + 3,
        }
    )


def run():
    joined = concat_samples([batch(0), batch(10)])
    first, second = joined.split_by_episode()
    done = compute_advantages(first, last_r=0.0, gamma=0.9, lambda_=0.8)
    features, states, lengths = chop_into_sequences(
        episode_ids=joined[SampleBatch.EPS_ID],
        unroll_ids=np.zeros(8, int),
        agent_indices=np.zeros(8, int),
        feature_columns=[joined[SampleBatch.REWARDS]],
        state_columns=[np.ones((8, 2), np.float32)],
        max_seq_len=3,
    )
    return {
        "count": joined.count,
        "advantages": done[Postprocessing.ADVANTAGES],
        "targets": done[Postprocessing.VALUE_TARGETS],
        "cumulated": discount_cumsum(second[SampleBatch.REWARDS], 0.9),
        "lengths": lengths,
        "feature": features[0],
        "state": states[0].shape,
        "policy": DEFAULT_POLICY_ID,
        "rows": joined.rows().__next__()[SampleBatch.ACTIONS],
    }
