"""Record what real Ray answers for cases.json:  python record.py   (needs Ray 2.60 with torch).

Weights and inputs come from formula.py; catalog.npz holds outputs, values and states.
"""

import copy
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def tensors(torch, value):
    if isinstance(value, dict):
        return {k: tensors(torch, v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(tensors(torch, v) for v in value)
    return torch.from_numpy(value)


def main():
    import numpy as np
    import torch
    from ray.rllib.models.catalog import MODEL_DEFAULTS, ModelCatalog

    sys.path.insert(0, HERE)
    import formula

    plain = torch.nn.LSTM.__init__  # Ray 2.60 hands it a numpy integer that this torch refuses
    torch.nn.LSTM.__init__ = lambda self, a, b, **kw: plain(self, int(a), int(b), **kw)
    arrays, facts = {}, {}
    with open(os.path.join(HERE, "cases.json")) as f:
        cases = json.load(f)
    for name, case in cases.items():
        config = copy.deepcopy({**MODEL_DEFAULTS, **case["config"]})
        model = ModelCatalog.get_model_v2(formula.policy_space(case), formula.space(case["action"]), case["outputs"], config, framework="torch")
        state_dict = model.state_dict()
        for key, value in state_dict.items():
            if not key.endswith("inverse_freq"):
                value.copy_(torch.from_numpy(formula.weight(key, tuple(value.shape))))
        facts[name] = {
            "class": type(model).__name__,
            "num_outputs": int(model.num_outputs),
            "weights": {k: list(v.shape) for k, v in state_dict.items()},
            "views": {k: [v.data_col, v.shift, v.batch_repeat_value, v.used_for_training] for k, v in model.view_requirements.items()},
        }
        for i, (columns, state, seq_lens) in enumerate(formula.runs(case)):
            with torch.no_grad():
                out, after = model(tensors(torch, columns), [torch.from_numpy(s) for s in state], None if seq_lens is None else torch.tensor(seq_lens))
                arrays[f"{name}|{i}|outputs"] = out.numpy()
                if case["outputs"] and not case.get("no_value"):
                    arrays[f"{name}|{i}|value"] = model.value_function().numpy()
            for j, s in enumerate(after):
                arrays[f"{name}|{i}|state{j}"] = s.numpy()
    names = sorted(arrays)
    flat = np.concatenate([np.asarray(arrays[n], np.float32).ravel() for n in names])
    np.savez_compressed(os.path.join(HERE, "catalog.npz"), flat=flat)
    with open(os.path.join(HERE, "catalog.json"), "w") as f:
        json.dump({"arrays": {n: list(arrays[n].shape) for n in names}, "facts": facts}, f, separators=(",", ":"))


if __name__ == "__main__":
    main()
