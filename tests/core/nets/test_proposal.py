"""Networks guessed from names and shapes, and what recorded outputs decide."""

import json
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.data.toml import parse_toml
from rlconnect.core.errors import ConfigError
from rlconnect.core.nets import bind, network_of
from rlconnect.core.nets.evidence import decide
from rlconnect.core.nets.facts import facts_of
from rlconnect.core.nets.files import read_description, toml_text
from rlconnect.core.nets.proposal import propose
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.proposed_networks import proposed_network, records_near
from rlconnect.core.vault.recorded_outputs import read_records

GOLDEN = Path(__file__).parents[2] / "golden" / "custom_networks"
CASES = sorted(str(file.relative_to(GOLDEN))[:-5] for file in GOLDEN.glob("*/*.toml"))


def record_of(case):
    (record,) = open_checkpoint(GOLDEN / case).acting.values()
    return record


def bare(network):
    """A network without what a file cannot tell, and with layers' own names only."""
    layers = [
        (layer.kind, layer.value, dict(layer.settings))
        for layer in network.layers
        if layer.kind not in ("divide",)
    ]
    return sorted(map(str, layers)), sorted(network.outputs)


@pytest.mark.parametrize("case", CASES)
def test_the_layers_are_those_of_the_code(case):
    """Every recorded network's layers, strides and outputs follow from its names and shapes."""
    found = proposed_network(record_of(case))

    assert bare(found.network) == bare(network_of(read_description(GOLDEN / f"{case}.toml")))


@pytest.mark.parametrize("case", [case for case in CASES if case != "new/lstm"])
def test_recorded_outputs_decide_activations(case):
    """The one network that gives what was recorded is found, and the file says so."""
    record = record_of(case)
    found = proposed_network(record, [read_records(GOLDEN / f"{case}.json")], is_given=True)

    assert found.is_proven
    assert found.guessed == ()
    assert "reproduces" in found.toml()
    layers = {layer.name: layer for layer in found.network.layers}
    for wanted in network_of(read_description(GOLDEN / f"{case}.toml")).layers:
        if wanted.name in layers and wanted.kind in ("dense", "convolution"):
            assert layers[wanted.name].activation == wanted.activation


def test_records_beside_a_checkpoint_count_where_they_fit():
    """Files of other policies in the same folder decide nothing."""
    checkpoint = open_checkpoint(GOLDEN / "old" / "gauss")
    records = records_near(checkpoint)

    found = proposed_network(record_of("old/gauss"), records)

    assert len(records) > 5
    assert found.is_proven
    assert found.records.endswith("gauss.json")
    assert proposed_network(record_of("old/mlp"), [r for r in records if "dqn" in r.path]).guessed


def test_records_that_nothing_gives_are_told(tmp_path):
    """Given records of another policy end in the closest network, and in words that say so."""
    kept = json.loads((GOLDEN / "old" / "mlp.json").read_text(encoding="utf-8"))
    kept["action_dist_inputs"] = (np.array(kept["action_dist_inputs"]) + 1).tolist()
    (tmp_path / "x.json").write_text(json.dumps(kept), encoding="utf-8")

    found = proposed_network(
        record_of("old/mlp"), [read_records(tmp_path / "x.json")], is_given=True
    )

    assert not found.is_proven
    assert "does not reproduce all" in found.toml()


def weights(rng, **shapes):
    return {
        name.replace("__", "."): rng.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def proposed(held, space, actions, **settings):
    facts = facts_of(held, space, actions, settings)
    found = propose(facts)
    if found is not None:
        shapes = {**facts.inputs, "prev_actions": (facts.action_width,), "prev_rewards": (1,)}
        bind(found.network, facts.shapes, shapes)
    return found


def lines(found):
    return [
        (layer.kind, layer.name, layer.inputs, layer.activation) for layer in found.network.layers
    ]


def test_names_that_tell_nothing(rng):
    """Without words for heads the last layer that fits is the policy's, one number the value."""
    held = weights(
        rng,
        a__weight=(16, 4),
        a__bias=(16,),
        b__weight=(8, 16),
        b__bias=(8,),
        c__weight=(2, 8),
        c__bias=(2,),
        d__weight=(1, 8),
        d__bias=(1,),
    )

    found = proposed(held, Box(-1, 1, (4,)), Discrete(2))

    assert found.network.outputs == {"logits": "c", "value": "d"}
    assert [name for _, name, _, _ in lines(found)] == ["a", "b", "c", "d"]


def test_branches_of_a_dict_are_joined(rng):
    """Parts of an observation go through layers of their own, then side by side."""
    held = weights(
        rng,
        pos_net__weight=(5, 3),
        goal_net__weight=(6, 2),
        joint__weight=(7, 11),
        policy__weight=(3, 7),
        value__weight=(1, 7),
    )
    space = Dict(goal=Box(-1, 1, (2,)), pos=Box(-1, 1, (3,)))

    found = proposed(held, space, Discrete(3))

    told = {name: inputs for _, name, inputs, _ in lines(found)}
    assert told["pos_net"] == ("obs.pos",)
    assert told["goal_net"] == ("obs.goal",)
    assert set(told["joint"]) == {"pos_net", "goal_net"}


def test_an_image_beside_a_vector(rng):
    """Convolutions lead to what is left of the layer that takes both."""
    held = weights(
        rng,
        cnn__0__weight=(8, 3, 3, 3),
        cnn__2__weight=(16, 8, 3, 3),
        joint__weight=(32, 68),
        pi__weight=(3, 32),
        vf__weight=(1, 32),
    )
    space = Dict(image=Box(0, 1, (12, 12, 3)), vec=Box(-1, 1, (4,)))

    found = proposed(held, space, Discrete(3))

    told = {name: inputs for _, name, inputs, _ in lines(found)}
    assert told["joint_in"] == ("cnn.2", "obs.vec")
    assert found.network.layers[1].settings == {"stride": 2}


def test_rllibs_own_convolutions_tell_their_padding(rng):
    """A padding layer in front moves a convolution one place back in its list."""
    held = weights(
        rng,
        _convs__0___model__1__weight=(16, 3, 4, 4),
        _convs__1___model__0__weight=(32, 16, 21, 21),
        _logits___model__1__weight=(5, 32, 1, 1),
        _value_branch___model__0__weight=(1, 32),
    )

    found = proposed(held, Box(0, 1, (42, 42, 3)), Discrete(5))

    settings = {layer.name: dict(layer.settings) for layer in found.network.layers}
    assert settings["_convs.0"] == {"stride": 2, "padding": "same"}
    assert settings["_convs.1"] == {}
    assert found.network.outputs["value"] == "_value_branch"


def test_norms_and_several_heads(rng):
    """An activation stands behind a norm; heads of several choices stand side by side."""
    held = weights(
        rng,
        net__0__weight=(16, 5),
        net__1__weight=(16,),
        net__1__bias=(16,),
        net__1__running_mean=(16,),
        net__1__running_var=(16,),
        head_0__weight=(2, 16),
        head_1__weight=(3, 16),
        value__weight=(1, 16),
    )

    found = proposed(held, Box(-1, 1, (5,)), MultiDiscrete([2, 3]))

    acts = {name: act for _, name, _, act in lines(found)}
    assert acts["net.0"] == "linear"
    assert acts["net.1"] == "relu"
    assert found.network.outputs["logits"] == "heads"


def test_what_no_layer_computes_has_no_proposal(rng):
    """Attention is none of the kinds: nothing is guessed."""
    held = weights(rng, attn__in_proj_weight=(24, 8), attn__out_proj__weight=(8, 8))

    assert propose(facts_of(held, Box(-1, 1, (8,)), Discrete(8), {})) is None


def test_layers_kept_under_two_names_count_once(rng):
    """`self.fc` and `self.net[0]` are one layer: its second name is unused."""
    held = weights(rng, fc__weight=(4, 3), out__weight=(2, 4), v__weight=(1, 4))
    held["net.0.weight"] = held["fc.weight"]

    found = proposed(held, Box(-1, 1, (3,)), Discrete(2))

    assert found.network.unused == ("net.0.weight",)


def test_earlier_actions_beside_an_lstm(rng):
    """An LSTM wider than its features sees earlier actions, or rewards, beside them."""
    held = weights(
        rng,
        fc__weight=(6, 4),
        lstm__weight_ih_l0=(20, 6 + 3 + 1),
        lstm__weight_hh_l0=(20, 5),
        lstm__bias_ih_l0=(20,),
        lstm__bias_hh_l0=(20,),
        logits__weight=(3, 5),
        value__weight=(1, 5),
    )

    found = proposed(held, Box(-1, 1, (4,)), Discrete(3))

    told = {name: inputs for _, name, inputs, _ in lines(found)}
    assert told["lstm"] == ("fc", "prev_actions", "prev_rewards")


def test_lost_spaces_are_no_obstacle(rng):
    """The first layer says how much is observed."""
    held = weights(rng, fc__weight=(8, 5), pi__weight=(2, 8), vf__weight=(1, 8))

    found = propose(facts_of(held, None, None, {}))

    assert found.network.outputs == {"logits": "pi", "value": "vf"}


def test_the_settings_suggest_an_activation(rng):
    """What an author's own settings say goes before a guess, and is told as what it is."""
    held = weights(rng, fc__weight=(8, 5), pi__weight=(2, 8))
    own = {"custom_model_config": {"activation": "ELU"}, "fcnet_activation": "tanh"}

    found = proposed(held, Box(-1, 1, (5,)), Discrete(2), **own)

    assert found.network.layers[0].activation == "elu"
    assert "activation of the settings" in found.comments["fc"]


@settings(max_examples=60)
@given(
    names=st.lists(
        st.text("ab.v/:\x00\"'\\é_0", min_size=1, max_size=12), min_size=1, max_size=6, unique=True
    ),
    data=st.data(),
)
def test_any_names_and_shapes(names, data):
    """Whatever weights are called, a guess binds and is written as TOML that reads the same."""
    shape = st.lists(st.integers(0, 6), max_size=5).map(tuple)
    endings = st.sampled_from(
        ["", ".weight", ".bias", "/kernel:0", ".running_mean", ".weight_ih_l0"]
    )
    held = {name + data.draw(endings): np.ones(data.draw(shape), np.float32) for name in names}
    facts = facts_of(held, Box(-1, 1, (3,)), Discrete(2), {})

    found = propose(facts)

    if found is not None:
        bind(found.network, facts.shapes, facts.inputs)
        assert network_of(found.network.as_data()) == found.network
        text = toml_text(found.network, found.comments, found.head)
        assert network_of(parse_toml(text)) == found.network


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("{", "found"),
        ("[]", "no object"),
        ('{"obs": [[1]]}', "columns obs"),
        ('{"obs": "BCJN", "vf_preds": [1]}', "compress_columns"),
        ('{"obs": [[1], [1, 2]], "vf_preds": [1]}', "expected columns"),
    ],
)
def test_files_that_are_no_records(content, match, tmp_path):
    """What is in the file, and what would be right."""
    (tmp_path / "x.json").write_text(content, encoding="utf-8")

    with pytest.raises(ConfigError, match=match):
        read_records(tmp_path / "x.json")


def test_records_in_lines_and_arrays(tmp_path):
    """One JSON object a line, as RLlib writes samples, and `.npz` hold the same."""
    kept = json.loads((GOLDEN / "old" / "mlp.json").read_text(encoding="utf-8"))
    names = ("obs", "action_dist_inputs", "vf_preds")
    rows = [{name: kept[name][i : i + 2] for name in names} for i in (0, 2, 4)]
    (tmp_path / "x.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    np.savez(tmp_path / "x.npz", **{name: np.array(kept[name]) for name in names})

    record = record_of("old/mlp")
    for name in ("x.json", "x.npz"):
        assert proposed_network(record, [read_records(tmp_path / name)], is_given=True).is_proven
    facts = facts_of(dict(record.weights), Box(-1, 1, (9,)), record.action_space, {})
    assert (
        decide(
            propose(facts_of(dict(record.weights), None, None, {})),
            facts,
            dict(record.weights),
            read_records(tmp_path / "x.npz"),
        )
        is None
    )
