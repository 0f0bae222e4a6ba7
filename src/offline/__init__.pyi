# Made of the table in __init__.py by `make stubs`.
from .damaged import DamagedDataWarning as DamagedDataWarning
from .dataset import Dataset as Dataset, open_dataset as open_dataset
_HOME: dict[str, str]
