"""What works where torch is not installed, and what is said where it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "examples" / "checkpoints"
DENSE = SAMPLES / "ppo-cartpole-ray-2.60"
MODULE = SAMPLES / "ppo-module-ray-2.60"


def without_torch(code):
    """What a fresh interpreter prints as its last line that cannot import torch."""
    script = f"import sys; sys.modules['torch'] = None; import json, rlconnect\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_checkpoints_are_read_by_the_command_line():
    """`scan` and `inspect` do without torch."""
    commands = [["scan", str(SAMPLES)], ["inspect", str(DENSE)], ["inspect", str(MODULE)]]

    codes = without_torch(
        "from rlconnect.cli.app import main\n"
        f"codes = [main([*each, '--json']) for each in {commands!r}]\n"
        "print(); print(json.dumps(codes))"
    )

    assert codes == [0, 0, 0]


def test_a_dense_policy_acts_in_numpy_however_many_rows(tmp_path):
    """It is loaded, saved, loaded again and asked for more rows than numpy is quicker for."""
    places = str(DENSE), str(tmp_path / "saved")

    answers = without_torch(
        "import numpy as np\n"
        f"old, saved = {places!r}\n"
        "obs = np.random.default_rng(0).normal(size=(1500, 4)).astype(np.float32)\n"
        "policy = rlconnect.load(old, 'default_policy')\n"
        "policy.export_checkpoint(saved)\n"
        "again = rlconnect.load(saved).only\n"
        "first, second = (p.compute_actions(obs, explore=False)[0] for p in (policy, again))\n"
        "from rlconnect.bridge import Actor\n"
        "actor = Actor.from_checkpoint(old)\n"
        "print(json.dumps([len(first), bool((first == second).all()), int(actor.act(obs[0]))]))"
    )

    assert answers[:2] == [1500, True]


def test_a_policy_is_shown_compared_and_converted(tmp_path):
    """Its text, its page in a notebook, its stages; two of them side by side; and a certificate."""
    places = str(DENSE), str(tmp_path / "converted"), str(tmp_path / "saved")

    shown, stages, is_equal, codes = without_torch(
        "from rlconnect.cli.app import main\n"
        f"old, converted, saved = {places!r}\n"
        "codes = [main(['convert', old, '--out', converted])]\n"
        "policy = rlconnect.load(old).only\n"
        "policy.save(saved)\n"
        "codes += [main(['verify', old, converted]), main(['verify', saved])]\n"
        "shown = repr(policy) + policy._repr_html_()\n"
        "stages = sorted(policy.stages([0.0] * 4))\n"
        "is_equal = rlconnect.verify(policy, converted).is_equal\n"
        "print(json.dumps([shown, stages, bool(is_equal), codes]))"
    )

    assert "ObsPreprocessor" in shown
    assert {"observation", "outputs", "action"} <= {*stages}
    assert is_equal
    assert codes == [0, 0, 0]


def test_an_onnx_file_acts():
    """Its runtime is all that it needs."""
    pytest.importorskip("onnxruntime")

    action = without_torch(
        f"path = {str(SAMPLES / 'ppo-pendulum.onnx')!r}\n"
        "policy = rlconnect.load(path, allow_program=True).only\n"
        "print(json.dumps(policy.act([1.0, 0.0, 0.5]).tolist()))"
    )

    assert action == pytest.approx([0.39765], abs=1e-4)


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("computing on cpu", f"rlconnect.Actor.from_checkpoint({str(DENSE)!r}).to('cpu')"),
        ("a network", "rlconnect.v2.MLPHeadConfig(input_dims=[2], output_layer_dim=2).build()"),
        (
            "a distribution class",
            "from rlconnect.v2.modules.action_distributions import distribution_class\n"
            "    from gymnasium.spaces import Discrete\n"
            "    distribution_class(Discrete(2))",
        ),
        (
            "the module in this checkpoint",
            f"rlconnect.v2.RLModule.from_checkpoint({str(MODULE)!r})",
        ),
        (
            "SkipConnection",
            "from rlconnect.compat.aliases.table import modules\n"
            "    modules()['ray.rllib.models.torch.modules']['SkipConnection'].fetch()",
        ),
        ("the module in this checkpoint", f"rlconnect.load({str(MODULE)!r})"),
        ("rlconnect.v2.PPOConfig", "from rlconnect.v2 import PPOConfig"),
        ("rlconnect.migrate", "rlconnect.migrate"),
        (
            "the network of this PPO policy",
            "from rlconnect.legacy.policy.networks import PolicyNetworks as Networks\n"
            "    from gymnasium.spaces import Box, Discrete\n"
            "    config = {'model': {'use_attention': True}}\n"
            "    Networks('PPO', Box(-1, 1, (2,)), Discrete(2), config, None)",
        ),
    ],
)
def test_what_needs_torch_says_so(what, code):
    """One typed error, an ImportError too, with the line that gets torch."""
    name, is_import_error, text = without_torch(
        "try:\n"
        f"    {code}\n"
        "    print(json.dumps(['nothing', False, '']))\n"
        "except Exception as error:\n"
        "    found = [type(error).__name__, isinstance(error, ImportError), str(error)]\n"
        "    print(json.dumps(found))"
    )

    assert (name, is_import_error) == ("MissingExtraError", True), text
    assert f"{what} needs torch" in text
    assert "pip install torch" in text


def test_a_command_that_needs_torch_ends_in_two_lines():
    """No traceback: what is missing, and how to get it."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['torch'] = None\n"
            "from rlconnect.cli.app import entry\n"
            f"sys.argv = ['rlconnect', 'migrate', {str(DENSE)!r}]; entry()",
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )

    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: this command needs torch, which is not installed.",
        "hint: pip install torch",
    ]
