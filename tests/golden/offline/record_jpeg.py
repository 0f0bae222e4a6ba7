"""Write two datasets whose images Minari 0.5.4 packs as JPEG, and what its loader makes of them.

python record_jpeg.py, with minari[create], h5py, pyarrow and Pillow; no Ray, no rlconnect.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

HERE = Path(__file__).parent / "0.5.4"


class Camera(gym.Env):
    """A picture that moves, beside two numbers, for three steps."""

    observation_space = Dict({"cam": Box(0, 255, (10, 14, 3), np.uint8), "v": Box(-9, 9, (2,))})
    action_space = Discrete(3)

    def _seen(self):
        y, x = np.mgrid[:10, :14]
        planes = (x * 9 + self.t * 20, y * 12, x + y + self.t * 30)
        picture = np.stack([each % 256 for each in planes], -1).astype(np.uint8)
        return {"cam": picture, "v": self.np_random.normal(size=2).astype(np.float32)}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action):
        self.t += 1
        return self._seen(), float(action), self.t >= 3, False, {}


def main():
    """Write both layouts."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MINARI_DATASETS_PATH"] = scratch
        import minari

        for layout in ("hdf5", "arrow"):
            env = minari.DataCollector(Camera(), data_format=layout)
            for episode in range(2):
                env.reset(seed=episode)
                is_over = False
                while not is_over:
                    _, _, is_over, _, _ = env.step(episode)
            made = env.create_dataset(f"jpeg-{layout}-v0")
            case = HERE / f"minari_{layout}_jpeg"
            shutil.rmtree(case, ignore_errors=True)
            shutil.copytree(Path(scratch) / f"jpeg-{layout}-v0", case / "data")
            truth = {}
            for each in made.iterate_episodes():
                truth[f"{each.id}|cam"] = each.observations["cam"]
                truth[f"{each.id}|v"] = each.observations["v"]
                truth[f"{each.id}|rewards"] = each.rewards
            np.savez_compressed(case / "truth.npz", **truth)
            told = {"minari": minari.__version__, "episodes": made.total_episodes}
            (case / "truth.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
