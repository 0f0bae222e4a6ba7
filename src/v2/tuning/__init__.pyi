# Made of the table in __init__.py by `make stubs`.
from ..runs.training_run import TrainingRun as TrainingRun
from .tuner import Tuner as Tuner, run as run
_HOME: dict[str, str]
from typing import Any
def __getattr__(name: str) -> Any: ...
