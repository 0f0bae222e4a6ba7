# Made of the table in __init__.py by `make stubs`.
from ..algorithms.saved_run import SavedFolder as _SavedFolder
from ..config.search_space import choice as choice, grid_search as grid_search, lograndint as lograndint, loguniform as loguniform, qlograndint as qlograndint, qloguniform as qloguniform, qrandint as qrandint, qrandn as qrandn, quniform as quniform, randint as randint, randn as randn, sample_from as sample_from, uniform as uniform
from ..envs.registry import register_env as register_env
from .reporting import get_checkpoint as get_checkpoint, get_context as get_context, report as report
from .result_grid import ResultGrid as _ResultGrid, Result as Result, ResultGrid as ResultGrid
from .run_config import CLIReporter as CLIReporter, Callback as Callback, CheckpointConfig as CheckpointConfig, FailureConfig as FailureConfig, RunConfig as RunConfig, TuneConfig as TuneConfig
from .schedulers import ASHAScheduler as ASHAScheduler, ASHAScheduler as _ASHAScheduler, FIFOScheduler as FIFOScheduler
from .stopping import CombinedStopper as CombinedStopper, FunctionStopper as FunctionStopper, MaximumIterationStopper as MaximumIterationStopper, NoopStopper as NoopStopper, Stopper as Stopper, TimeoutStopper as TimeoutStopper, TrialPlateauStopper as TrialPlateauStopper
from .trainable import Trainable as Trainable, get_trainable_cls as get_trainable_cls, register_trainable as register_trainable, with_parameters as with_parameters, with_resources as with_resources
from .training_run import TrainingRun as TrainingRun
from .trial import TuneError as TuneError
from .tuner import Tuner as Tuner, run as run
from .variants import BasicVariantGenerator as BasicVariantGenerator
_HOME: dict[str, str]
AsyncHyperBandScheduler = _ASHAScheduler
Checkpoint = _SavedFolder
ExperimentAnalysis = _ResultGrid
