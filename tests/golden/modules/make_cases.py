"""Writes cases.json: the modules whose weights and outputs are recorded from real RLlib.

A space is a list: its kind, then its arguments. Run once; the file is data from then on.
"""

import json

B3 = ["Box", -10, 10, [3]]
IMG8 = ["Box", 0, 1, [8, 8, 2]]
IMG10 = ["Box", 0, 1, [10, 10, 1]]
D2, D4 = ["Discrete", 2], ["Discrete", 4]
A2 = ["Box", -1, 1, [2]]
A2W = ["Box", -3, 5, [2]]
MD = ["MultiDiscrete", [2, 3]]
TUPLE = ["Tuple", [D2, ["Dict", {"b": ["Discrete", 3], "a": A2}]]]
H = {"fcnet_hiddens": [5, 4]}
CNN = {"conv_filters": [[3, [4, 4], 2], [4, 3, 2]]}
LSTM = {"use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 6}
SMALL = {"fcnet_hiddens": [4]}

cases = {}


def add(name, kind, obs=B3, act=D2, inference_only=False, **config):
    cases[name] = {
        "kind": kind,
        "obs": obs,
        "act": act,
        "inference_only": inference_only,
        "config": config,
    }


for share in (True, False):
    tag = "shared" if share else "separate"
    add(f"ppo_{tag}", "ppo", vf_share_layers=share, **H)
    add(f"ppo_{tag}_inference", "ppo", inference_only=True, vf_share_layers=share, **H)
    add(f"ppo_{tag}_lstm", "ppo", vf_share_layers=share, **SMALL, **LSTM)
    add(
        f"ppo_{tag}_lstm_inference",
        "ppo",
        inference_only=True,
        vf_share_layers=share,
        **SMALL,
        **LSTM,
    )
    add(f"ppo_{tag}_cnn", "ppo", obs=IMG8, vf_share_layers=share, **CNN)
    add(f"ppo_{tag}_cnn_lstm", "ppo", obs=IMG8, vf_share_layers=share, **CNN, **LSTM)
    add(f"ppo_{tag}_box", "ppo", act=A2, vf_share_layers=share, **H)
    add(f"ppo_{tag}_free_log_std", "ppo", act=A2, vf_share_layers=share, free_log_std=True, **H)
    add(f"appo_{tag}", "appo", vf_share_layers=share, **H)
    add(f"appo_{tag}_inference", "appo", inference_only=True, vf_share_layers=share, **H)
    add(f"appo_{tag}_lstm", "appo", vf_share_layers=share, **SMALL, **LSTM)
for act in (
    "relu",
    "silu",
    "swish",
    "elu",
    "linear",
    "tanh",
    "ReLU",
    "LeakyReLU",
    "Softplus",
    "GELU",
    None,
):
    add(
        f"ppo_act_{act}",
        "ppo",
        fcnet_hiddens=[4, 3],
        fcnet_activation=act,
        head_fcnet_hiddens=[3],
        head_fcnet_activation=act,
    )
    add(f"ppo_conv_act_{act}", "ppo", obs=IMG8, conv_activation=act, **CNN)
add(
    "ppo_layernorm",
    "ppo",
    fcnet_hiddens=[5, 4],
    fcnet_use_layernorm=True,
    head_fcnet_hiddens=[3, 6],
    head_fcnet_use_layernorm=True,
)
add(
    "ppo_layernorm_linear",
    "ppo",
    fcnet_hiddens=[5, 4],
    fcnet_use_layernorm=True,
    fcnet_activation="linear",
)
add("ppo_layernorm_lstm", "ppo", fcnet_hiddens=[5, 4], fcnet_use_layernorm=True, **LSTM)
add("ppo_one_layer", "ppo", fcnet_hiddens=[4])
add(
    "ppo_three_layers",
    "ppo",
    fcnet_hiddens=[4, 5, 3],
    head_fcnet_hiddens=[4, 2],
    fcnet_activation="relu",
)
add("ppo_no_layer", "ppo", fcnet_hiddens=[])
add("ppo_lstm_no_layer", "ppo", fcnet_hiddens=[], **LSTM)
add("ppo_multi_discrete", "ppo", act=MD, **SMALL)
add("ppo_multi_discrete_2d", "ppo", act=["MultiDiscrete", [[2, 3], [4, 2]]], **SMALL)
add("ppo_tuple", "ppo", act=TUPLE, **SMALL)
add("ppo_multi_binary", "ppo", act=["MultiBinary", 3], **SMALL)
add("ppo_int_box", "ppo", act=["Box", 0, 3, [2], "int32"], **SMALL)
add("ppo_matrix_box", "ppo", act=["Box", 0, 3, [2, 2]], **SMALL)
add("ppo_scalar_box", "ppo", act=["Box", 0, 3, []], **SMALL)
add("ppo_free_discrete", "ppo", free_log_std=True, **SMALL)
add("ppo_clip", "ppo", act=A2, log_std_clip_param=0.05, **SMALL)
add("ppo_clip_none", "ppo", act=A2, log_std_clip_param=1e9, **SMALL)
add("ppo_free_clip", "ppo", act=A2, log_std_clip_param=0.02, free_log_std=True, **SMALL)
add("ppo_free_head", "ppo", act=A2, free_log_std=True, head_fcnet_hiddens=[3], **SMALL)
add(
    "ppo_free_layernorm",
    "ppo",
    act=A2,
    free_log_std=True,
    head_fcnet_hiddens=[3],
    head_fcnet_use_layernorm=True,
    **SMALL,
)
add(
    "ppo_box_head_layernorm",
    "ppo",
    act=A2,
    head_fcnet_hiddens=[3],
    head_fcnet_use_layernorm=True,
    **SMALL,
)
add("ppo_unknown_activation", "ppo", fcnet_activation="noway", **SMALL)
add("ppo_obs_2d", "ppo", obs=["Box", 0, 1, [4, 4]], **SMALL)
add("ppo_obs_discrete", "ppo", obs=["Discrete", 4], **SMALL)
add("ppo_obs_dict", "ppo", obs=["Dict", {"a": B3}], **SMALL)
add("ppo_obs_multidiscrete", "ppo", obs=MD, **SMALL)
add("ppo_obs_multibinary", "ppo", obs=["MultiBinary", 3], **SMALL)
add("ppo_obs_scalar", "ppo", obs=["Box", 0, 1, []], **SMALL)
add("ppo_obs_4d", "ppo", obs=["Box", 0, 1, [4, 4, 4, 3]], **SMALL)
add("ppo_cnn_no_default", "ppo", obs=["Box", 0, 1, [13, 17, 1]])
add("ppo_cnn_not_square", "ppo", obs=["Box", 0, 1, [42, 84, 3]])
add("ppo_cnn_96", "ppo", obs=["Box", 0, 1, [96, 96, 1]])
add("ppo_cnn_480", "ppo", obs=["Box", 0, 1, [480, 640, 3]])
for side in (10, 42, 64, 84):
    add(f"ppo_cnn_default_{side}", "ppo", obs=["Box", 0, 1, [side, side, 1]])
for name, filters in {
    "same": [[2, 3, 2, "same"], [3, 2, 1, "same"]],
    "valid": [[2, 3, 2, "valid"], [3, 2, 1, "valid"]],
    "mixed": [[2, [3, 3], [2, 1], "same"], [3, [2, 3], 1, "valid"], [2, 1, 1]],
    "even": [[2, 4, 3], [3, 5, 2]],
    "one": [[2, 8, 1]],
    "stride_tuple": [[2, [4, 2], [3, 2]]],
    "full": [[2, 8, 1, "valid"], [3, 1, 1, "valid"]],
    "bad_padding": [[2, 3, 2, "other"]],
}.items():
    add(f"ppo_cnn_{name}", "ppo", obs=IMG8, conv_filters=filters)
add(
    "ppo_cnn_nonsquare",
    "ppo",
    obs=["Box", 0, 1, [7, 5, 3]],
    conv_filters=[[2, 3, 2], [3, 3, 2]],
    head_fcnet_hiddens=[4],
)
add("ppo_cnn_box", "ppo", obs=IMG10, act=A2, conv_filters=[[2, 4, 2]], fcnet_hiddens=[6, 5])
add("ppo_cnn_uint8", "ppo", obs=["Box", 0, 255, [8, 8, 2], "uint8"], **CNN)
add("ppo_lstm_box", "ppo", act=A2, head_fcnet_hiddens=[4], **SMALL, **LSTM)
add(
    "ppo_lstm_relu",
    "ppo",
    fcnet_activation="relu",
    vf_share_layers=False,
    fcnet_hiddens=[4, 5],
    **LSTM,
)
add("ppo_old_head_names", "ppo", post_fcnet_hiddens=[7], post_fcnet_activation="tanh", **SMALL)
add("ppo_unknown_setting", "ppo", never_heard_of=3, **SMALL)
add("bc", "bc", **H)
add("bc_box", "bc", act=A2, **H)
add("bc_lstm", "bc", **SMALL, **LSTM)
add("bc_cnn", "bc", obs=IMG8, head_fcnet_hiddens=[3], **CNN)
add("bc_head", "bc", head_fcnet_hiddens=[3], head_fcnet_activation="tanh", **H)
add("bc_free", "bc", act=A2, free_log_std=True, **H)
add("bc_inference", "bc", inference_only=True, **H)
add("bc_tuple", "bc", act=TUPLE, **H)
DQN = {
    "num_atoms": 1,
    "epsilon": 0.0,
    "double_q": True,
    "dueling": True,
    "v_min": -2.0,
    "v_max": 3.0,
}
for dueling in (True, False):
    for double_q in (True, False):
        for atoms in (1, 5):
            add(
                f"dqn_{'dueling' if dueling else 'plain'}_{'double' if double_q else 'single'}_{atoms}",
                "dqn",
                act=["Discrete", 3],
                **{**DQN, **H, "dueling": dueling, "double_q": double_q, "num_atoms": atoms},
            )
add("dqn_inference", "dqn", inference_only=True, **DQN, **H)
add("dqn_head", "dqn", act=D4, head_fcnet_hiddens=[6, 3], head_fcnet_activation="tanh", **DQN, **H)
add("dqn_cnn", "dqn", obs=IMG8, **DQN, **CNN)
add(
    "dqn_layernorm",
    "dqn",
    fcnet_use_layernorm=True,
    head_fcnet_hiddens=[3],
    head_fcnet_use_layernorm=True,
    **DQN,
    **SMALL,
)
add("dqn_box", "dqn", act=A2, **DQN, **SMALL)
add("dqn_lstm", "dqn", **DQN, **SMALL, **LSTM)
add("dqn_lstm_plain", "dqn", **{**DQN, "dueling": False, "double_q": False}, **SMALL, **LSTM)
add("dqn_lstm_atoms", "dqn", **{**DQN, "num_atoms": 4}, **SMALL, **LSTM)
F = {"fusionnet_hiddens": [6, 7]}
for twin in (True, False):
    tag = "twin" if twin else "single"
    add(f"sac_box_{tag}", "sac", act=A2, twin_q=twin, **H, **F)
    add(f"sac_discrete_{tag}", "sac", act=["Discrete", 3], twin_q=twin, **H, **F)
add("sac_box_wide", "sac", act=A2W, twin_q=True, **H, **F)
add("sac_box_inference", "sac", act=A2, inference_only=True, twin_q=True, **H, **F)
add("sac_discrete_inference", "sac", inference_only=True, twin_q=True, **H, **F)
add(
    "sac_head",
    "sac",
    act=A2,
    twin_q=True,
    head_fcnet_hiddens=[3, 5],
    head_fcnet_activation="tanh",
    **H,
    **F,
)
add("sac_discrete_head", "sac", twin_q=True, head_fcnet_hiddens=[3], **H)
add(
    "sac_fusion_relu",
    "sac",
    act=A2,
    twin_q=False,
    fusionnet_activation="relu",
    fusionnet_hiddens=[5],
    **SMALL,
)
add(
    "sac_fusion_three",
    "sac",
    act=A2,
    twin_q=False,
    fusionnet_hiddens=[5, 6, 3],
    fcnet_activation="relu",
    **H,
)
add("sac_fusion_none", "sac", act=A2, twin_q=False, fusionnet_hiddens=[], **H)
add("sac_layernorm", "sac", act=A2, twin_q=False, fcnet_use_layernorm=True, **H, **F)
add("sac_one_layer", "sac", act=A2, twin_q=False, **SMALL, **F)
add("sac_cnn", "sac", obs=IMG8, act=A2, twin_q=False, fcnet_hiddens=[4], **CNN, **F)
add("sac_discrete_cnn", "sac", obs=IMG8, twin_q=False, fcnet_hiddens=[4], **CNN, **F)
add("sac_multi_discrete", "sac", act=MD, twin_q=True, **H)
add("sac_lstm", "sac", act=A2, twin_q=False, **SMALL, **F, **LSTM)
add("sac_discrete_lstm", "sac", twin_q=False, **SMALL, **F, **LSTM)

with open("cases.json", "w") as file:
    json.dump(cases, file, indent=1)
    file.write("\n")
print(len(cases))
