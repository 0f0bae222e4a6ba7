"""What an editor offers, and what an interpreter does."""

import pytest
import rlconnect
from rlconnect import legacy, v2
from rlconnect.v2.config.setting_methods import SettingMethods

from tests.typing.stubs import SRC

jedi = pytest.importorskip("jedi")


@pytest.fixture(scope="module")
def offered(tmp_path_factory):
    """What jedi offers at the end of a piece of code, without running any of it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "rlconnect").symlink_to(SRC, target_is_directory=True)
    project = jedi.Project(folder, added_sys_path=[str(folder)])

    def complete(code):
        return {each.name for each in jedi.Script(code, project=project).complete()}

    return complete


def test_the_front_door_is_offered(offered):
    """After `rlconnect.` an editor offers all of the front door."""
    assert {*rlconnect.__all__} <= offered("import rlconnect\nrlconnect.")


@pytest.mark.parametrize("stack", [legacy, v2], ids=["legacy", "v2"])
def test_every_name_of_a_stack_is_offered(offered, stack):
    """An editor knows all names of a stack, those that are kept for old sources too."""
    assert {*stack._HOME, *stack._KEPT} <= offered(f"from {stack.__name__} import ")


def test_the_methods_of_a_config_are_offered(offered):
    """After `PPOConfig().` come the methods that take settings, also in a chain of them."""
    start = "from rlconnect.v2 import PPOConfig\nPPOConfig()"

    found = offered(f"{start}.")

    assert {*SettingMethods.SECTIONS, "build_algo"} <= found
    assert not found & {"exploration", "rollouts"}
    assert {"learners"} == offered(f"{start}.training(lr=0.1).env_runners(explore=True).learn")


@pytest.mark.parametrize("loaded", ["load('path', 'id')", "load('path').only"])
def test_what_a_loaded_policy_can_do_is_offered(offered, loaded):
    """After `policy.` comes what a policy of either stack has."""
    found = offered(f"import rlconnect\npolicy = rlconnect.{loaded}\npolicy.")

    assert {"act", "reset", "stages", "save", "native", "id", "action_space"} <= found


def test_what_a_policy_of_the_old_stack_can_do_is_offered(offered):
    """After `policy.` come the methods of an old policy, under RLlib's names."""
    code = "from rlconnect.legacy import Policy\ndef act(policy: Policy):\n    policy."

    assert {"compute_single_action", "export_checkpoint", "get_weights"} <= offered(code)


def test_an_interpreter_offers_the_settings():
    """Where the code runs, the keywords of each method are offered."""
    namespaces = [{"config": v2.PPOConfig()}]

    found = {each.name for each in jedi.Interpreter("config.training(l", namespaces).complete()}

    assert {"lambda_=", "lr="} <= found


def test_dir_leaves_out_what_only_old_sources_import():
    """`dir()` shows what one writes code with; the rest can be imported all the same."""
    shown = {*dir(v2)}

    assert {"PPOConfig", "ConnectorV2", "MultiRLModuleSpec"} <= shown
    assert not shown & {"MultiAgentDict", "override", "SingleAgentRLModuleSpec", "lazy_names"}
    assert v2.SingleAgentRLModuleSpec is v2.RLModuleSpec
