"""How, where and from what modules learn."""

from __future__ import annotations

from typing import Final

from ..saving import class_slots as slots
from . import rules
from .rules import (
    AT_LEAST_0,
    AT_LEAST_1,
    CALLABLE,
    CLASS,
    FLAG,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    one_of,
)
from .section import Section, Setting, idle, settings_dict

TRAINING: Final = Section(
    "training",
    {
        "gamma": Setting(0.99, SHARE, "Worth of a reward one step later."),
        "lr": Setting(0.001, rules.SCHEDULE, "Learning rate, or [[step, rate], ...]."),
        "grad_clip": Setting(None, POSITIVE, "Bound on gradients."),
        "grad_clip_by": Setting(
            "global_norm", one_of("value", "norm", "global_norm"), "The norm to clip."
        ),
        "train_batch_size": Setting(32, AT_LEAST_1, "Steps per update of all learners."),
        "train_batch_size_per_learner": Setting(
            None, AT_LEAST_1, "Steps per update of each learner.", "_train_batch_size_per_learner"
        ),
        "num_epochs": Setting(1, AT_LEAST_1, "How often a train batch is gone through."),
        "minibatch_size": Setting(None, AT_LEAST_1, "Steps per gradient; None for all."),
        "shuffle_batch_per_epoch": Setting(False, FLAG, "Whether each pass has another order."),
        "model": Setting({}, instead="use config.rl_module(model_config=...)"),
        "optimizer": settings_dict("Settings of a custom optimizer."),
    },
    {
        "num_sgd_iter": "num_epochs",
        "sgd_minibatch_size": "minibatch_size",
    },
)

LEARNERS: Final = Section(
    "learners",
    {
        "num_learners": Setting(
            0, AT_LEAST_0, "Number of learner processes; 0 for a local learner."
        ),
        "num_cpus_per_learner": Setting("auto", None, "Ray resources of each."),
        "num_gpus_per_learner": Setting(0, NOT_NEGATIVE, "1 learns on a GPU."),
        "custom_resources_per_learner": Setting({}, rules.SETTINGS, "Ray resources of each."),
        "local_gpu_idx": Setting(0, AT_LEAST_0, "Which GPU a learner right here takes."),
        "learner_class": Setting(
            None, None, "A custom class.", "_learner_class", slot=slots.LEARNER
        ),
        "learner_connector": Setting(
            None,
            CALLABLE,
            "(observation space, action space) to one piece or several, before the default ones.",
            "_learner_connector",
            slot=slots.FUNCTION,
        ),
        "learner_connector_end": Setting(
            None,
            CALLABLE,
            "(observation space, action space) to pieces after the default ones, before those a "
            "learner itself appends; not in RLlib.",
            "_learner_connector_end",
            slot=slots.FUNCTION,
        ),
        "add_default_connectors_to_learner_pipeline": Setting(
            True, FLAG, "Whether default pieces are added."
        ),
        "learner_config_dict": settings_dict("Settings of a custom learner; merged."),
        **idle(
            num_aggregator_actors_per_learner=0,
            max_requests_in_flight_per_aggregator_actor=3,
            max_requests_in_flight_per_learner=3,
        ),
    },
)

_BY_URL: Final = "name a URL, input_='s3://bucket/folder', with the extra `remote`"
_TO_FOLDER: Final = "record into a folder, and copy it from there"

OFFLINE_DATA: Final = Section(
    "offline_data",
    {
        "input_": Setting(
            "sampler",
            None,
            "Recorded episodes, files of them, or a function that gives them.",
            slot=slots.FUNCTION,
        ),
        "dataset_num_iters_per_learner": Setting(None, AT_LEAST_1, "Updates per train()."),
        "actions_in_input_normalized": Setting(False, FLAG, "Whether actions are in -1 to 1."),
        "input_read_episodes": Setting(False, FLAG, "Whether rows are put together to episodes."),
        "input_read_sample_batches": Setting(
            False, FLAG, "Whether files hold batches of the old stack; found by looking anyway."
        ),
        "input_read_batch_size": Setting(
            None, AT_LEAST_1, "Rows, or episodes, read for one batch; its size by default."
        ),
        "input_read_schema": settings_dict("Names of columns in files, by those we have."),
        "ignore_final_observation": Setting(
            False, FLAG, "Whether observations after steps are zeros, for data without them."
        ),
        "materialize_data": Setting(False, FLAG, "Whether what was read is kept in memory."),
        "materialize_mapped_data": Setting(
            True, FLAG, "The same: kept and shuffled, instead of read from files for each round."
        ),
        "prelearner_class": Setting(
            None, CLASS, "A custom class that creates train batches.", slot=slots.PRELEARNER
        ),
        "prelearner_buffer_class": Setting(
            None, CLASS, "A custom class that steps are sampled from.", slot=slots.PRELEARNER
        ),
        "prelearner_buffer_kwargs": settings_dict("For the buffer that steps are drawn from."),
        "prelearner_use_recorded_module_states": Setting(
            False, FLAG, "Whether sequences start in the recorded states."
        ),
        "prelearner_module_synch_period": Setting(
            10, AT_LEAST_1, "After how many batches the values in them are those of new weights."
        ),
        "offline_data_class": Setting(
            None,
            CLASS,
            "A custom class that reads recorded data.",
            slot=slots.PRELEARNER,
        ),
        "output": Setting(None, None, "A folder where sampled episodes are recorded."),
        "output_write_method": Setting(
            "write_parquet",
            one_of("write_parquet", "write_msgpack"),
            "As RLlib does (the extra `offline`), or in msgpack, which needs nothing.",
        ),
        "output_max_rows_per_file": Setting(None, AT_LEAST_1, "Episodes in one Parquet file."),
        "output_write_episodes": Setting(
            True, FLAG, "Whether Parquet files hold whole episodes, or a row for each step."
        ),
        **idle(
            input_spaces_jsonable=True,
            input_read_method="read_parquet",
            input_read_method_kwargs={},
            input_compress_columns=["obs", "new_obs"],
            map_batches_kwargs={},
            iter_batches_kwargs={},
            output_compress_columns=["obs", "new_obs"],
            output_max_file_size=67108864,
            output_write_remaining_data=False,
            postprocess_inputs=False,
            input_config={},
            shuffle_buffer_size=0,
            offline_sampling=False,
            output_config={},
        ),
        "input_filesystem": Setting(None, instead=_BY_URL),
        "input_filesystem_kwargs": Setting({}, instead=_BY_URL),
        "output_filesystem": Setting(None, instead=_TO_FOLDER),
        "output_filesystem_kwargs": Setting({}, instead=_TO_FOLDER),
        "output_write_method_kwargs": Setting({}, instead=_TO_FOLDER),
    },
)
