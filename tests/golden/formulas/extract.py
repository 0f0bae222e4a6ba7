"""Cut small pieces out of recordings of eight Ray versions: extract.py RECORDINGS_FOLDER."""

import base64
import io
import json
import sys
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PIXELS = "default_policy|agent0:ObsPreprocessorConnector|new_obs"
FILTER = "default_policy|agent1:MeanStdObservationFilterAgentConnector|new_obs"


def load(case):
    meta = json.loads((case / "io.json").read_text())
    with np.load(case / "io.npz") as arrays:
        data = {name: arrays[name] for name in arrays.files}
    for name, canonical in meta["aliases"].items():
        data[name] = data[canonical]
    return data, meta["policies"]["default_policy"]


def array(text):
    return np.load(io.BytesIO(zlib.decompress(base64.b64decode(text))))


def main(root):
    data, _ = load(root / "2.7.2" / "ppo_generic_pixels")
    frames = {"raw": data["default_policy|raw_obs|obs"][[0, 20]], "out": data[PIXELS][[0, 20]]}
    np.savez_compressed(HERE / "atari_frames.npz", **frames)
    out = {}
    for version in ("2.2.0", "2.7.2", "2.10.0", "2.60.0"):
        data, policy = load(root / version / "ppo_cartpole_meanstd")
        state = dict(policy["agent_connectors_state"][1])[FILTER.split(":")[1].split("|")[0]]
        stat = state["running_stats"][0]
        sum_sq = stat.get("std_array") or stat["sum_sq_diff_array"]
        out[f"{version}/state"] = np.array(json.dumps(stat))
        out[f"{version}/n"] = np.array(stat["num_pushes"])
        out[f"{version}/mean"] = array(stat["mean_array"])
        out[f"{version}/sum_sq"] = array(sum_sq)
        out[f"{version}/raw"] = data["default_policy|raw_obs|obs"]
        out[f"{version}/out"] = data[FILTER]
        assert not state["clip"]
    np.savez_compressed(HERE / "old_filters.npz", **out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
