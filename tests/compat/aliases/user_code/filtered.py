"""The mean-std filter, its state taken out and put back."""

from made import ACT, OBS, episode
from ray.rllib.connectors.env_to_module import EnvToModulePipeline
from ray.rllib.connectors.env_to_module.mean_std_filter import MeanStdFilter


def in_pipeline(piece):
    return EnvToModulePipeline(OBS, ACT, connectors=[piece]).connectors[0]


def run():
    piece = in_pipeline(MeanStdFilter(clip_by_value=5.0))
    seen = []
    for length in (2, 3, 4):
        one = episode(length)
        piece(rl_module=None, batch={}, episodes=[one], explore=True, shared_data={})
        seen.append(one.get_observations(-1))
    other = in_pipeline(MeanStdFilter(clip_by_value=5.0, update_stats=False))
    other.set_state(piece.get_state())
    frozen = episode(7)
    other(rl_module=None, batch={}, episodes=[frozen], explore=False, shared_data={})
    return {"seen": seen, "frozen": frozen.get_observations(-1)}
