"""The vault: any checkpoint folder to plain records, without running a byte of it.

`open_checkpoint` locates (`layout`), decodes (`pickle_machine`, `msgpack_file`, `torch_file`) and
describes (`records`). Nothing here knows a policy or imports torch.
"""

from typing import TYPE_CHECKING

from ..importing.lazy_names import lazy_names
from .decode.load_limits import DEFAULT_LIMITS, Limits
from .opening import open_checkpoint
from .records.records import (
    Checkpoint,
    ComponentRecord,
    ConnectorRecord,
    FileRecord,
    FilterRecord,
    ForeignReference,
    ModuleRecord,
    PolicyRecord,
    Problem,
)
from .records.weights import WeightTable

if TYPE_CHECKING:
    from .readers.own_records import save_records

__all__ = [
    "DEFAULT_LIMITS",
    "Checkpoint",
    "ComponentRecord",
    "ConnectorRecord",
    "FileRecord",
    "FilterRecord",
    "ForeignReference",
    "Limits",
    "ModuleRecord",
    "PolicyRecord",
    "Problem",
    "WeightTable",
    "open_checkpoint",
    "save_records",
]

if not TYPE_CHECKING:  # reading most checkpoints needs nothing that writes
    __getattr__, __dir__ = lazy_names(__name__, {"save_records": ".readers.own_records"})
