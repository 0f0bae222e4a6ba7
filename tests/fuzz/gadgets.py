"""What an attacker would put into a file: names of what does harm, and values that hurt readers."""

import numpy as np
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque

FIRED = []
"""What a canary was called with; nothing may ever stand here."""

MARK = "FUZZ-MARK"
_NAMES = (
    *("os.system", "subprocess.Popen", "subprocess.run", "builtins.exec", "builtins.eval"),
    *("builtins.getattr", "builtins.print", "builtins.open", "builtins.__import__"),
    *("importlib.import_module", "runpy.run_path", "shutil.rmtree", "os.remove", "os.mkdir"),
    *("pathlib.Path.write_text", "pathlib.Path", "torch.load", "torch.nn.Linear", "numpy.load"),
    *("numpy.zeros", "gymnasium.make", "gymnasium.spaces.box.Box", "collections.deque"),
    *("functools.partial", "operator.attrgetter", "threading.Thread", "code.interact"),
    *("rlconnect.core.importing.lazy_names.lazy_names", "rlconnect.load", "rlconnect.migrate"),
    *("rlconnect.v2.algorithms.ppo.PPO", "rlconnect.v2.saving.checkpoint_files.write_component"),
    *("rlconnect.bridge.compiled.artifact.export_actor", "rlconnect.cli.app.main"),
    *("rlconnect.legacy.policy.policy.Policy", "rlconnect.v2.MeanStdFilter"),
    *(
        "ray.rllib.algorithms.ppo.ppo.PPO",
        "ray.rllib.connectors.common.numpy_to_tensor.NumpyToTensor",
    ),
    *("ray.rllib.connectors.env_to_module.mean_std_filter.MeanStdFilter",),
    *("ray.rllib.core.rl_module.multi_rl_module.MultiRLModule", "ray.rllib.nothing.Nothing"),
    *("ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module.DefaultPPOTorchRLModule",),
    *("fuzz_canary.fire", "fuzz_canary.Piece", "fuzz_canary.Module", "fuzz_canary.Env"),
    *("fuzz_canary.Callback", "fuzz_canary.Anything", "__main__.main", "fuzz_unread.thing"),
)
_TEXTS = (
    *(
        "fuzz_unread:Env-v0",
        "fuzz_unread.thing",
        "fuzz_canary:Env",
        "fuzz_canary.fire",
        "os.system",
    ),
    *("subprocess.Popen", "CartPole-v1", "ALE/Pong-v5", "a" * 300, "../../../tmp/out", "/dev/zero"),
    *("/etc/passwd", "__class__", "cuda:7", "tf2", "\x1b[2J", "\u202e", "[red]x[/red]", "float128"),
    *("(" * 200, "0", "nan", "None", "True", "{}", "relu", "PPO", "MeanStdFilter"),
    f"__import__('os').system('{MARK}')",
)
_VALUES = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3.5,
        -0.0,
        float("nan"),
        float("inf"),
        2**31,
        2**64,
        -(2**63),
    ),
    *(10**400, 1e300, b"", b"\x80\x04N.", b"\xff" * 16, 1j, 10**7, 10**9),
    *("", {}, [], (), set(), {"a": 1}, [1, 2, 3], (0, 0), [None], {None: None}, {"a": {"b": {}}}),
)


def reference(rng):
    """A name of something that should not be called."""
    module, _, name = rng.choice(_NAMES).rpartition(".")
    return GlobalRef(module, name)


def call(rng):
    """A call of such a name, as a pickle's REDUCE or BUILD would have it."""
    made = Opaque(
        reference(rng), rng.choice(((), ("true",), (["true"],), (f"echo {MARK}", "x"), (1,)))
    )
    if rng.random() < 0.3:
        made.state = {"env": "x", "low": 1, "__module__": "os", "__name__": "system"}
    return made


def text(rng):
    """A name of such a thing, or what else makes trouble as text."""
    return rng.choice(rng.choice((_NAMES, _TEXTS)))


def junk(rng):
    """Any value that may stand anywhere."""
    kind = rng.randrange(12)
    if kind <= 1:
        return reference(rng)
    if kind <= 3:
        return call(rng)
    if kind <= 5:
        return text(rng)
    if kind == 6:
        return array(rng)
    value = rng.choice(_VALUES)
    return type(value)(value) if isinstance(value, (dict, list, set)) else value


def array(rng):
    """An array that fits nowhere."""
    return rng.choice(
        (
            np.zeros(0),
            np.array(5),
            np.array([np.nan, np.inf]),
            np.zeros((2, 3), np.int64),
            np.array(["a", "b"]),
            np.array([None, {}], dtype=object),
            np.zeros((1, 1, 1, 1, 1), np.float16),
            np.array([1 + 2j]),
            np.array([True]),
        )
    ).copy()
