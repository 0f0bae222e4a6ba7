"""The cases of `benchmarks/pipelines.py`: the same work for rlconnect, Ray and the bare limits."""

import numpy as np

from .public_names import public

SIZES = (1, 8, 64, 512)
NAMES = (
    *(f"env_to_module.{kind}.n{n}" for kind in ("mlp", "lstm") for n in SIZES),
    *(f"module_to_env.mlp.n{n}" for n in SIZES),
    *(f"mean_std_filter.d64.n{n}" for n in SIZES),
    *(f"frame_stacking.8x8x1x4.n{n}" for n in SIZES),
)
WIDTH = 64


def make(name, backend, folder):
    """What to time for one case and backend; None where there is no such thing."""
    kind, what, size = name.split(".")
    makers = LIMITS if backend in ("numpy", "torch") else CASES
    return makers[kind](backend, what, int(size[1:]))


def module(backend, what):
    class Module(public(backend, "RLModule")):
        framework = "torch"

        def is_stateful(self):
            return what == "lstm"

        def get_initial_state(self):
            return {key: np.zeros(WIDTH, np.float32) for key in ("h", "c")}

        def get_exploration_action_dist_cls(self):
            return public(backend, "TorchCategorical")

    return Module()


def episodes(backend, count, shape, dtype=np.float32, has_state=False):
    rng = np.random.default_rng(0)
    made = []
    for _ in range(count):
        episode = public(backend, "SingleAgentEpisode")()
        episode.add_env_reset(observation=(rng.random(shape) * 9).astype(dtype))
        for _ in range(20):
            state = {key: rng.random(WIDTH, np.float32) for key in ("h", "c")}
            episode.add_env_step(
                observation=(rng.random(shape) * 9).astype(dtype),
                action=np.int64(1),
                reward=1.0,
                extra_model_outputs={"state_out": state} if has_state else {},
            )
        made.append(episode)
    return made


def pipeline(backend, kind, names, **settings):
    from gymnasium.spaces import Box, Discrete

    pieces = [public(backend, name)(**settings.get(name, {})) for name in names]
    box = Box(-9, 9, (4,), np.float32)
    return public(backend, kind)(box, Discrete(2), connectors=pieces)


def to_module(backend, what, count):
    running, rl_module = (
        episodes(backend, count, (4,), has_state=what == "lstm"),
        module(backend, what),
    )
    names = (
        "AddObservationsFromEpisodesToBatch",
        "AddTimeDimToBatchAndZeroPad",
        "AddStatesFromEpisodesToBatch",
        "BatchIndividualItems",
        "NumpyToTensor",
    )
    run = pipeline(backend, "EnvToModulePipeline", names)
    return lambda: run(
        episodes=running, batch={}, explore=True, rl_module=rl_module, shared_data={}
    )


def to_env(backend, what, count):
    import torch

    torch.set_num_threads(1)
    running, rl_module = episodes(backend, count, (4,)), module(backend, what)
    names = (
        "GetActions",
        "TensorToNumpy",
        "UnBatchToIndividualItems",
        "RemoveSingleTsTimeRankFromBatch",
        "NormalizeAndClipActions",
        "ListifyDataForVectorEnv",
    )
    bounds = {"normalize_actions": True, "clip_actions": False}
    run = pipeline(backend, "ModuleToEnvPipeline", names, NormalizeAndClipActions=bounds)
    inputs, ids = torch.randn(count, 2), [episode.id_ for episode in running]
    return lambda: run(
        rl_module=rl_module,
        batch={"action_dist_inputs": inputs},
        episodes=running,
        explore=True,
        shared_data={"memorized_map_structure": ids},
    )


def piece(name, shape, dtype, **settings):
    def make_piece(backend, what, count):
        from gymnasium.spaces import Box

        space = Box(0, 9, shape, dtype)
        made = public(backend, name)(**settings)
        made.input_observation_space = space
        running = episodes(backend, count, shape, dtype)
        return lambda: made(
            rl_module=None, batch={}, episodes=running, explore=True, shared_data={}
        )

    return make_piece


CASES = {
    "env_to_module": to_module,
    "module_to_env": to_env,
    "mean_std_filter": piece("MeanStdFilter", (64,), np.float32),
    "frame_stacking": piece("FrameStackingEnvToModule", (8, 8, 1), np.uint8, num_frames=4),
}


def bare_gather(backend, what, count):
    if backend != "torch":
        return None
    import torch

    rows = [[np.zeros(4, np.float32)] for _ in range(count)]
    state = np.zeros(WIDTH, np.float32)

    def call():
        made = [torch.from_numpy(np.array([row[-1] for row in rows]))]
        if what == "lstm":
            made += [torch.from_numpy(np.array([state for _ in rows])) for _ in "hc"]
        return made

    return call


def bare_draw(backend, what, count):
    if backend != "torch":
        return None
    import torch

    torch.set_num_threads(1)
    inputs = torch.randn(count, 2)

    def call():
        logp = inputs.log_softmax(-1)
        drawn = (logp - torch.empty_like(logp).exponential_().log_()).argmax(-1, keepdim=True)
        return list(drawn.squeeze(-1).numpy()), list(logp.gather(-1, drawn).squeeze(-1).numpy())

    return call


def bare_filter(backend, what, count):
    rows = [np.random.default_rng(0).random(64, np.float32) for _ in range(count)]

    def call():
        block = np.array(rows)
        mean = block.mean(0)
        scaled = (block - mean) / (np.sqrt(np.square(block - mean).mean(0)) + 1e-6)
        return list(scaled.clip(-10, 10))

    return call if backend == "numpy" else None


def bare_stack(backend, what, count):
    frames = [[np.zeros((8, 8, 1), np.uint8) for _ in range(4)] for _ in range(count)]
    if backend != "numpy":
        return None
    return lambda: [np.concatenate(own, axis=-1) for own in frames]


LIMITS = {
    "env_to_module": bare_gather,
    "module_to_env": bare_draw,
    "mean_std_filter": bare_filter,
    "frame_stacking": bare_stack,
}
