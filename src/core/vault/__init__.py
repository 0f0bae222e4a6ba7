"""The vault: any checkpoint folder to plain records, without running a byte of it.

`open_checkpoint` locates (`layout`), decodes (`pickle_machine`, `msgpack_file`, `torch_file`) and
describes (`records`). Nothing here knows a policy or imports torch.
"""

from .limits import DEFAULT_LIMITS, Limits
from .opening import open_checkpoint
from .own_records import save_records
from .records import (
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
from .weights import WeightTable

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
