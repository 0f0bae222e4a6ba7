"""Specs of one and of many modules, and the multi-module they build."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect import v2
from rlconnect.core.errors import ConfigError, DuplicateNameError

B3 = Box(-1, 1, (3,), np.float32)
PPO = v2.DefaultPPOTorchRLModule


class Theirs(PPO):
    """A user's own class."""


def spec(n=2, **fields):
    return v2.RLModuleSpec(PPO, B3, Discrete(n), model_config={"fcnet_hiddens": [4]}, **fields)


def multi(**fields):
    return v2.MultiRLModuleSpec(rl_module_specs={"a": spec(2), "b": spec(3)}, **fields)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({}, "class"),
        ({"module_class": PPO}, "Observation space"),
        ({"module_class": PPO, "observation_space": B3}, "Action space"),
    ],
)
def test_an_incomplete_spec_says_what_it_lacks(fields, match):
    """Class and both spaces are needed, and named."""
    with pytest.raises(ConfigError, match=match):
        v2.RLModuleSpec(**fields).build()


def test_an_error_of_the_users_own_comes_through():
    """What a module's constructor raises is not hidden behind another error."""

    class Broken(PPO):
        def setup(self):
            raise AttributeError("mine")

    with pytest.raises(AttributeError, match="mine"):
        v2.RLModuleSpec(Broken, B3, Discrete(2)).build()


def test_a_spec_describes_a_living_module():
    """Everything needed to build its like; a multi-module has a spec of its own kind."""
    module = spec(inference_only=True).build()

    again = v2.RLModuleSpec.from_module(module)

    assert (again.module_class, again.inference_only) == (PPO, True)
    assert again.catalog_class is v2.PPOCatalog
    assert sorted(again.build().get_state()) == sorted(module.get_state())
    with pytest.raises(ConfigError, match="MultiRLModuleSpec"):
        v2.RLModuleSpec.from_module(multi().build())


def test_updating_fills_or_replaces():
    """Given fields replace ours, or only fill empty ones; empty ones change nothing."""
    replaced = spec()
    replaced.update(v2.RLModuleSpec(action_space=Discrete(9), model_config={"x": 1}))
    filled = v2.RLModuleSpec(observation_space=B3, action_space=Discrete(9))
    filled.update(spec(), override=False)

    assert (replaced.action_space.n, replaced.model_config) == (9, {"x": 1})
    assert replaced.module_class is PPO
    acting = spec(inference_only=True)
    acting.update(spec())
    assert acting.inference_only
    assert (filled.action_space.n, filled.module_class) == (9, PPO)
    with pytest.raises(ConfigError, match="RLModuleSpec"):
        filled.update(3)


@pytest.mark.parametrize("override", [False, True])
def test_specs_by_id_replace_fields_or_whole_specs(override):
    """As recorded from Ray 2.60: without `override`, fields they have replace ours."""
    specs = multi()

    specs.update(
        v2.MultiRLModuleSpec(rl_module_specs={"a": v2.RLModuleSpec(model_config={"x": 1})}),
        override=override,
    )

    assert specs["a"].model_config == {"x": 1}
    assert (specs["a"].observation_space is None) is override
    assert specs["b"].action_space == Discrete(3)


def test_specs_travel_as_plain_data():
    """Classes go by RLlib's names, spaces as its dicts; both come back."""
    data = multi().to_dict()

    again = v2.MultiRLModuleSpec.from_dict(data)

    assert data["rl_module_specs"]["a"]["action_space"] == {"space": "discrete", "n": 2, "start": 0}
    named = data["rl_module_specs"]["a"]["module_class"]
    assert named.startswith("ray.rllib.algorithms.ppo")
    assert again.rl_module_specs["b"].action_space == Discrete(3)
    assert again.rl_module_specs["a"].module_class is PPO
    assert sorted(again.build().keys()) == ["a", "b"]


def test_a_users_class_in_plain_data_has_to_be_given():
    """Its name alone is not enough, unless it is loaded already."""
    data = {**spec().to_dict(), "module_class": "nowhere.Theirs"}

    with pytest.raises(v2.UnknownClassError, match=r"nowhere\.Theirs"):
        v2.RLModuleSpec.from_dict(data)

    again = v2.RLModuleSpec.from_dict(data, module_classes={"nowhere.Theirs": Theirs})
    assert again.module_class is Theirs


def test_modules_are_called_by_id():
    """A pass calls the modules the batch names, and no others."""
    module = multi().build()

    out = module.forward_inference({"b": {"obs": torch.ones(2, 3)}, "unknown": {}})

    assert list(out) == ["b"]
    assert out["b"]["action_dist_inputs"].shape == (2, 3)


def test_it_is_a_dict_of_modules():
    """Ids, modules, length, membership, iteration; a wrong id is a KeyError that lists all."""
    module = multi().build()

    assert (list(module), len(module), "a" in module, "z" in module) == (["a", "b"], 2, True, False)
    assert [key for key, _ in module.items()] == list(module.keys())
    assert list(module.values()) == [module["a"], module["b"]]
    assert module.get("z") is None
    assert repr(module) == (
        "MultiRLModule({'a': DefaultPPOTorchRLModule, 'b': DefaultPPOTorchRLModule})"
    )
    with pytest.raises(v2.UnknownModuleError, match=r"'z'.*'a', 'b'") as caught:
        module["z"]
    assert isinstance(caught.value, KeyError)


def test_modules_come_and_go():
    """Added and removed by id; its specs follow."""
    module = multi().build()
    extra = spec(4).build()

    module.add_module("c", extra)
    module.remove_module("a")

    assert sorted(module.rl_module_specs) == list(module.keys()) == ["b", "c"]
    with pytest.raises(DuplicateNameError, match="'c'"):
        module.add_module("c", extra)
    module.add_module("c", spec(5).build(), override=True)
    assert module["c"].action_space.n == 5
    with pytest.raises(v2.UnknownModuleError):
        module.remove_module("a")
    module.remove_module("a", raise_err_if_not_found=False)
    with pytest.raises(ConfigError, match="RLModule"):
        module.add_module("d", 3)


def test_a_function_runs_over_all_modules():
    """Results as a list or by id; further arguments are handed on."""
    module = multi().build()

    def actions(module_id, each, plus=0):
        return each.action_space.n + plus

    assert module.foreach_module(actions) == [2, 3]
    assert module.foreach_module(actions, return_dict=True, plus=1) == {"a": 3, "b": 4}


def test_states_are_by_id():
    """All, some, all but some, and only what acting needs."""
    one, other = multi().build(), multi().build()

    other.set_state({**one.get_state(), "unknown": {}})

    same = one.get_state(), other.get_state()
    assert all(np.array_equal(v, same[1][m][k]) for m, d in same[0].items() for k, v in d.items())
    assert list(one.get_state(components="a")) == ["a"]
    assert list(one.get_state(not_components=["a"])) == ["b"]
    assert not any(k.startswith("vf") for k in one.get_state(inference_only=True)["a"])


def test_acting_modules_are_built_for_acting():
    """`inference_only` reaches all modules; the specs given stay as they were."""
    specs = {"a": spec(), "b": spec(3)}

    module = v2.MultiRLModule(rl_module_specs=specs, inference_only=True)

    assert all(part.inference_only for part in module.values())
    assert not specs["a"].inference_only
    assert v2.MultiRLModuleSpec(rl_module_specs={"a": spec(inference_only=True)}).inference_only
    assert not multi().inference_only


def test_one_module_may_stand_for_many():
    """A module and a spec wrap themselves under the default id; a multi-module is one already."""
    module = spec().build()

    wrapped = module.as_multi_rl_module()

    assert wrapped["default_policy"] is module
    assert wrapped.as_multi_rl_module() is wrapped
    assert list(spec().as_multi_rl_module_spec().rl_module_specs) == ["default_policy"]
    assert multi().build("b").action_space.n == 3


def test_statefulness_is_that_of_any_module():
    """One recurrent module is enough."""
    specs = {"a": spec(), "b": spec()}
    specs["b"].model_config = {"use_lstm": True, "lstm_cell_size": 2}

    module = v2.MultiRLModule(rl_module_specs=specs)

    assert module.is_stateful()
    assert module.get_initial_state()["a"] == {}
    assert set(module.get_initial_state()["b"]) == {"h", "c"}


def test_specs_are_added_updated_and_removed():
    """By id; another multi-spec's or one for all."""
    specs = multi()

    specs.add_modules({"c": v2.RLModuleSpec(module_class=PPO)})
    specs.remove_modules(["a", "unknown"])
    specs.update(v2.RLModuleSpec(observation_space=Box(0, 1, (2,))))
    specs.update(v2.MultiRLModuleSpec(rl_module_specs={"d": spec()}))

    assert sorted(specs.rl_module_specs) == ["b", "c", "d"]
    assert (specs["b"].observation_space, specs["c"].observation_space) == (B3, Box(0, 1, (2,)))
    assert ("b" in specs, "a" in specs, len(specs)) == (True, False, 3)
    with pytest.raises(ConfigError, match="module 'c'"):
        specs.build()
    with pytest.raises(KeyError):
        specs["a"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: v2.MultiRLModuleSpec().build(),
        lambda: v2.MultiRLModuleSpec(rl_module_specs=v2.RLModuleSpec()),
    ],
)
def test_a_multi_spec_wants_a_dict_of_specs(make):
    """One spec, or none, is an error that says what was expected."""
    with pytest.raises(ConfigError, match=r"rl_module_specs.*dict"):
        make()


def test_specs_take_the_names_of_older_releases():
    """`model_config_dict` and `module_specs` mean what they meant."""
    one = v2.RLModuleSpec(model_config_dict={"fcnet_hiddens": [3]})

    several = v2.MultiRLModuleSpec(module_specs={"p": one})

    assert several.rl_module_specs["p"].model_config == {"fcnet_hiddens": [3]}
    assert "model_config_dict" not in one.to_dict()
