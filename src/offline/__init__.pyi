# Made of the table in __init__.py by `make stubs`.
from ..bridge.over_data.acting import BatchActor as BatchActor, act_on as act_on, infer as infer
from ..bridge.over_data.appraisal import appraise as appraise
from ..bridge.over_data.evaluation import evaluate as evaluate
from ..bridge.over_data.through import through as through
from .damaged import DamagedDataWarning as DamagedDataWarning
from .dataset import Dataset as Dataset, open_dataset as open_dataset
from .estimators import Estimate as Estimate
from .runs import Runs as Runs, open_runs as open_runs
from .train_batches import train_batches as train_batches
_HOME: dict[str, str]
