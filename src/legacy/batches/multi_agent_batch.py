"""Batches of several policies, and concatenation of batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core import array_namespace as xp
from ...core.errors import PieceError
from . import batch_columns as bc
from .sample_batch import SampleBatch

if TYPE_CHECKING:
    import torch

DEFAULT_POLICY_ID: Final = "default_policy"
_COMPRESSED: Final = frozenset({"obs", "new_obs"})


class MultiAgentBatch:
    """One batch per policy, of the same steps of the environment.

    Args:
        policy_batches: By policy id.
        env_steps: Steps of the environment the batches were taken in; agents may take more steps
            together, or fewer.

    Example:
        >>> batch = MultiAgentBatch({"p": SampleBatch({"obs": np.zeros(3)})}, env_steps=2)
        >>> len(batch), batch.agent_steps()
        (2, 3)
    """

    def __init__(self, policy_batches: Mapping[str, SampleBatch], env_steps: int) -> None:
        for policy_id, batch in policy_batches.items():
            if not isinstance(batch, SampleBatch):
                raise PieceError(
                    f"policy {policy_id!r} of a MultiAgentBatch has no batch",
                    expected="a SampleBatch",
                    found=type(batch).__name__,
                )
        self.policy_batches = dict(policy_batches)
        self.count: Final = env_steps

    def env_steps(self) -> int:
        """Steps of the environment."""
        return self.count

    def __len__(self) -> int:
        return self.count

    def agent_steps(self) -> int:
        """Steps of all agents together."""
        return sum(batch.count for batch in self.policy_batches.values())

    def timeslices(self, k: int) -> list[MultiAgentBatch]:
        """Batches of `k` steps of the environment each, in order.

        Rows of all policies are ordered by episode and step ("eps_id" and "t"); rows of one step
        stay together. Each policy's rows of one piece share a new "unroll_id".
        """
        policies = list(self.policy_batches)
        batches = list(self.policy_batches.values())
        # Every row of every policy, with a number for its step in the order of episodes and steps.
        _, episodes = np.unique(_joined(batches, "eps_id"), return_inverse=True)
        pairs = np.stack([episodes.reshape(-1), _joined(batches, "t")], axis=1)
        _, steps = np.unique(pairs, axis=0, return_inverse=True)
        steps = steps.reshape(-1)
        ends = np.cumsum([batch.count for batch in batches])[:-1]
        steps_of = np.split(steps, ends)
        total = int(steps.max(initial=-1)) + 1
        pieces: list[MultiAgentBatch] = []
        unroll = 0
        for start in range(0, total, k):
            parts = {}
            for policy_id, batch, own in zip(policies, batches, steps_of, strict=True):
                rows = np.flatnonzero((own >= start) & (own < start + k))
                if len(rows):
                    columns = bc.take_rows(batch, rows[np.argsort(own[rows], kind="stable")])
                    columns["unroll_id"] = np.full(len(rows), unroll)
                    parts[policy_id] = SampleBatch.of(columns, like=batch)
                    unroll += 1
            pieces.append(MultiAgentBatch(parts, min(k, total - start)))
        return pieces

    @staticmethod
    def wrap_as_needed(
        policy_batches: Mapping[str, SampleBatch], env_steps: int
    ) -> SampleBatch | MultiAgentBatch:
        """The only batch itself where the only policy is the default one, else all together."""
        if set(policy_batches) == {DEFAULT_POLICY_ID}:
            return policy_batches[DEFAULT_POLICY_ID]
        return MultiAgentBatch(policy_batches, env_steps)

    @staticmethod
    def concat_samples(samples: Sequence[SampleBatch | MultiAgentBatch]) -> MultiAgentBatch:
        """Several of them as one."""
        return concat_samples_into_ma_batch(samples)

    def copy(self) -> MultiAgentBatch:
        """A batch of copies."""
        return MultiAgentBatch({k: v.copy() for k, v in self.policy_batches.items()}, self.count)

    def to_device(
        self, device: str | torch.device, framework: str = "torch", **options: Any
    ) -> MultiAgentBatch:
        """Turn all columns into torch tensors on `device`, in place."""
        for batch in self.policy_batches.values():
            batch.to_device(device, framework, **options)
        return self

    def size_bytes(self) -> int:
        """Return the memory of all columns in bytes."""
        return sum(batch.size_bytes() for batch in self.policy_batches.values())

    def compress(self, bulk: bool = False, columns: Collection[str] = _COMPRESSED) -> None:
        """Do nothing; see `SampleBatch.compress`."""

    def decompress_if_needed(self, columns: Collection[str] = _COMPRESSED) -> MultiAgentBatch:
        """Do nothing; see `SampleBatch.compress`."""
        return self

    def as_multi_agent(self) -> MultiAgentBatch:
        """The batch itself."""
        return self

    def __getitem__(self, key: str) -> SampleBatch:
        return self.policy_batches[key]

    def __repr__(self) -> str:
        return f"MultiAgentBatch({self.policy_batches}, env_steps={self.count})"

    def _repr_html_(self) -> str:
        from ...core.pages.figure import columns_html

        policies = {f"policy {name}": each for name, each in self.policy_batches.items()}
        return columns_html(f"MultiAgentBatch of {self.count} environment steps", policies)


def concat_samples(samples: Sequence[Any]) -> Any:
    """Batches as one.

    Args:
        samples: SampleBatches; if any is a MultiAgentBatch, the result is one, and plain batches
            count as those of the default policy. Empty batches are passed over.

    Raises:
        PieceError: They differ in columns, padding or time axis.

    Example:
        >>> concat_samples([SampleBatch({"obs": [1, 2]}), SampleBatch({"obs": [3]})])["obs"]
        array([1, 2, 3])
    """
    if any(isinstance(sample, MultiAgentBatch) for sample in samples):
        return concat_samples_into_ma_batch(samples)
    batches = [
        sample if isinstance(sample, SampleBatch) else SampleBatch(sample) for sample in samples
    ]
    full = [batch for batch in batches if batch.count > 0]
    if not full:
        return SampleBatch()
    first = full[0]
    for batch in full[1:]:
        _check_alike(first, batch)
    joined = {}
    for name in first:
        axis = 1 if first.time_major and not bc.is_per_sequence(name) else 0
        parts = [dict.__getitem__(batch, name) for batch in full]
        if name == bc.SEQ_LENS:
            parts = [p if xp.is_tensor(p) else np.asarray(p, np.int32) for p in parts]
        joined[name] = bc.join_columns(name, parts, axis=axis)
    made = SampleBatch.of(joined, like=first)
    lengths = [batch.max_seq_len for batch in full if batch.max_seq_len is not None]
    made.max_seq_len = max(lengths, default=None)
    return made


def concat_samples_into_ma_batch(samples: Sequence[Any]) -> MultiAgentBatch:
    """Batches of one or of several policies as one MultiAgentBatch."""
    parts: dict[str, list[SampleBatch]] = {}
    steps = 0
    for sample in samples:
        batch = sample.as_multi_agent()
        steps += batch.env_steps()
        for policy_id, policy_batch in batch.policy_batches.items():
            parts.setdefault(policy_id, []).append(policy_batch)
    return MultiAgentBatch({key: concat_samples(each) for key, each in parts.items()}, steps)


def convert_ma_batch_to_sample_batch(batch: SampleBatch | MultiAgentBatch) -> SampleBatch:
    """The only batch of a MultiAgentBatch whose only policy is the default one.

    Raises:
        PieceError: It holds other policies.
    """
    if isinstance(batch, SampleBatch):
        return batch
    if list(batch.policy_batches) != [DEFAULT_POLICY_ID]:
        raise PieceError(
            "a MultiAgentBatch of several policies is no SampleBatch",
            expected=f"one batch, of {DEFAULT_POLICY_ID!r}",
            found=f"batches of {list(batch.policy_batches)}",
        )
    return batch.policy_batches[DEFAULT_POLICY_ID]


def _check_alike(first: SampleBatch, other: SampleBatch) -> None:
    mine, theirs = (
        {"zero_padded": batch.zero_padded, "time_major": batch.time_major}
        for batch in (first, other)
    )
    if first.zero_padded and other.zero_padded:
        mine["max_seq_len"], theirs["max_seq_len"] = first.max_seq_len, other.max_seq_len
    if mine != theirs:
        raise PieceError("batches cannot be joined", expected=f"all {mine}", found=str(theirs))
    missing = [name for name in first if name not in other]
    if missing:
        raise PieceError(
            "batches cannot be joined: one lacks columns",
            expected=str(list(first)),
            found=str(list(other)),
        )


def _joined(batches: Sequence[SampleBatch], name: str) -> Any:
    return np.concatenate([xp.to_numpy(batch[name]) for batch in batches])
