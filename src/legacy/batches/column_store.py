"""A dict of columns with equally many rows: what is known of it, and how columns are read."""

from __future__ import annotations

from builtins import slice as Slice
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from typing_extensions import Self

from ...core.errors import UnknownNameError
from . import batch_columns as bc

_FLAGS: Final = ("time_major", "zero_padded", "num_grad_updates", "_is_training", "_max_seq_len")


class UnknownColumnError(UnknownNameError, KeyError):
    """A batch has no such column."""


class ColumnStore(dict[str, Any]):
    """Columns by name; see `SampleBatch`, which adds what is done with rows.

    Args:
        *args: As of a dict.
        **kwargs: Columns, and flags with a leading underscore.

    Example:
        >>> ColumnStore({"rewards": [1.0, 2.0]}).count
        2
    """

    OBS: ClassVar[str] = "obs"
    CUR_OBS: ClassVar[str] = "obs"
    NEXT_OBS: ClassVar[str] = "new_obs"
    ACTIONS: ClassVar[str] = "actions"
    REWARDS: ClassVar[str] = "rewards"
    PREV_ACTIONS: ClassVar[str] = "prev_actions"
    PREV_REWARDS: ClassVar[str] = "prev_rewards"
    TERMINATEDS: ClassVar[str] = "terminateds"
    TRUNCATEDS: ClassVar[str] = "truncateds"
    DONES: ClassVar[str] = "dones"
    INFOS: ClassVar[str] = "infos"
    SEQ_LENS: ClassVar[str] = "seq_lens"
    T: ClassVar[str] = "t"
    EPS_ID: ClassVar[str] = "eps_id"
    ENV_ID: ClassVar[str] = "env_id"
    AGENT_INDEX: ClassVar[str] = "agent_index"
    UNROLL_ID: ClassVar[str] = "unroll_id"
    OBS_EMBEDS: ClassVar[str] = "obs_embeds"
    ACTION_DIST: ClassVar[str] = "action_dist"
    ACTION_DIST_INPUTS: ClassVar[str] = "action_dist_inputs"
    ACTION_PROB: ClassVar[str] = "action_prob"
    ACTION_LOGP: ClassVar[str] = "action_logp"
    VF_PREDS: ClassVar[str] = "vf_preds"
    VALUES_BOOTSTRAPPED: ClassVar[str] = "values_bootstrapped"
    RETURNS_TO_GO: ClassVar[str] = "returns_to_go"
    ATTENTION_MASKS: ClassVar[str] = "attention_masks"

    # Defaults live on the class, so that a batch of one row costs little more than its dict.
    time_major: bool | None = None
    zero_padded: bool = False
    num_grad_updates: int | None = None
    _is_training: Any = False
    _max_seq_len: Any = None
    _interceptor: Callable[[Any], Any] | None = None
    _by_batch_id: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.time_major = kwargs.pop("_time_major", None)
        self.zero_padded = kwargs.pop("_zero_padded", False)
        self._max_seq_len = kwargs.pop("_max_seq_len", None)
        self._is_training = kwargs.pop("_is_training", False)
        self.num_grad_updates = kwargs.pop("_num_grad_updates", None)
        kwargs.pop("is_training", None)
        super().__init__(*args, **kwargs)
        for name, column in self.items():
            if name == self.SEQ_LENS and isinstance(column, (list, tuple)):
                dict.__setitem__(self, name, np.array(column, np.int32))
            elif name != self.INFOS and isinstance(column, (list, int, float, bool)):
                dict.__setitem__(self, name, np.array(column))

    @classmethod
    def of(cls, columns: Mapping[str, Any], like: ColumnStore | None = None) -> Self:
        """A batch of columns that are arrays already.

        Args:
            columns: By name.
            like: A batch whose time_major, zero_padded and so on hold for the new one too.
        """
        batch = cls.__new__(cls)
        dict.update(batch, columns)
        if like is not None:
            batch.time_major, batch.zero_padded = like.time_major, like.zero_padded
            batch.num_grad_updates, batch._is_training = like.num_grad_updates, like._is_training
            if like.zero_padded:
                batch._max_seq_len = like._max_seq_len
        return batch

    @property
    def count(self) -> int:
        """Number of steps, without padding."""
        return bc.count_steps(self)

    def __len__(self) -> int:
        return bc.count_steps(self)

    def __bool__(self) -> bool:
        return bc.count_steps(self) > 0

    @property
    def row_count(self) -> int:
        """Rows of the columns with one entry per step, padding counted."""
        lens = bc.lens_of(self)
        if lens is not None and not self.time_major:
            return len(lens) * int(self.max_seq_len) if self.zero_padded else int(lens.sum())
        for name, column in self.items():
            if not bc.is_per_sequence(name) and np.ndim(bc.first_array(column)):
                return len(bc.first_array(column))
        return 0

    def agent_steps(self) -> int:
        """Number of agent steps."""
        return self.count

    def env_steps(self) -> int:
        """Number of environment steps; equal to `agent_steps` for a single agent."""
        return self.count

    def size_bytes(self) -> int:
        """Return the memory of all columns in bytes."""
        return bc.count_bytes(self)

    @property
    def max_seq_len(self) -> Any:
        """Length of the longest sequence, or the one sequences are padded to."""
        if self._max_seq_len is None:
            lens = bc.lens_of(self)
            return None if lens is None else int(lens.max())
        return self._max_seq_len

    @max_seq_len.setter
    def max_seq_len(self, length: int | None) -> None:
        self._max_seq_len = length

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Slice):
            return self.cut(key)
        notes = self.__dict__
        if "accessed_keys" in notes:
            notes["accessed_keys"].add(key)
        else:  # as __getattr__ would make it, which costs more than all the rest of this
            notes["accessed_keys"] = {key}
        if key not in self:
            if key == self.DONES and self.TERMINATEDS in self:
                return self[self.TERMINATEDS]
            raise UnknownColumnError(
                f"this batch has no column {key!r}",
                expected=f"one of {list(self.keys())}",
                found=repr(key),
                name=key,
            )
        value = dict.__getitem__(self, key)
        if self._interceptor is None:
            return value
        if key not in self.intercepted_values:
            self.intercepted_values[key] = self._interceptor(value)
        return self.intercepted_values[key]

    def __setitem__(self, key: str, item: Any) -> None:
        if key not in self:
            self.added_keys.add(key)
        super().__setitem__(key, item)
        self.intercepted_values.pop(key, None)

    def __delitem__(self, key: str) -> None:
        self.deleted_keys.add(key)
        super().__delitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """One column, or `default` where there is none."""
        try:
            return self[key]
        except UnknownColumnError:
            return default

    def as_read(self) -> dict[str, Any]:
        """All columns as a plain dict, each as `[]` reads it, but not noted as accessed."""
        if self._interceptor is None:
            return dict(self)
        return {name: self[name] for name in self}

    def columns(self, keys: Sequence[str]) -> list[Any]:
        """Several columns."""
        return [self[key] for key in keys]

    def __getattr__(self, name: str) -> Any:
        # Bookkeeping that most batches never need appears on first use.
        if name in ("accessed_keys", "added_keys", "deleted_keys"):
            value: Any = set()
        elif name == "intercepted_values":
            value = {}
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = value
        return value

    def set_get_interceptor(self, fn: Callable[[Any], Any] | None) -> None:
        """Let `fn` change columns when they are first read, a move to a device say."""
        if fn is not self._interceptor:
            self.intercepted_values.clear()
        self._interceptor = fn

    @property
    def is_training(self) -> Any:
        """Whether the batch is for learning."""
        return self._is_training

    def set_training(self, training: Any = True) -> None:
        """Say whether the batch is for learning."""
        self._is_training = training

    def cut(self, rows: Slice) -> Self:
        """The rows of a slice; see `SampleBatch`."""
        start, stop, step = rows.indices(self.count)
        return type(self).of(bc.take_rows(self, np.arange(start, stop, step)), like=self)

    def copy(self, shallow: bool = False) -> Self:
        """A batch of copies of the arrays, or of the same arrays if `shallow`."""
        columns = {k: bc.copy_column(v, shallow=shallow) for k, v in self.items()}
        twin = type(self).of(columns, like=self)
        twin._max_seq_len = self._max_seq_len
        return twin

    def __repr__(self) -> str:
        lens = bc.lens_of(self)
        sequences = "" if lens is None else f" (seqs={len(lens)})"
        names = [name for name in self if name != self.SEQ_LENS]
        return f"{type(self).__name__}({self.count}{sequences}: {names})"

    def _repr_html_(self) -> str:
        from ...core.pages.figure import columns_html

        return columns_html(f"{type(self).__name__} of {self.count}", {"": self})

    def __reduce__(self) -> Any:
        state = {name: self.__dict__[name] for name in _FLAGS if name in self.__dict__}
        return _rebuilt, (type(self), dict(self), state)


def _rebuilt(kind: type[ColumnStore], columns: dict[str, Any], state: dict[str, Any]) -> Any:
    batch = kind.of(columns)
    batch.__dict__.update(state)
    return batch
