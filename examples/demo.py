"""What rlconnect does today, on the sample checkpoints: `make demo` runs this.

Each command is shown as you would type it, then run.
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SAMPLES = HERE / "checkpoints"
STEPS = (
    ("Which checkpoints lie here, and how whole are they?", ["scan", "."]),
    (
        "What is this one? Ray 2.7 wrote it; no Ray is installed.",
        ["inspect", "ppo-pendulum-ray-2.7"],
    ),
    ("And this one, of Ray 2.0, a pickle inside a pickle?", ["inspect", "sac-pendulum-ray-2.0"]),
    (
        "TensorFlow wrote this one. Here is every array, without TensorFlow.",
        ["inspect", "ppo-frozenlake-tensorflow-2022", "--weights"],
    ),
    ("A path that holds no checkpoint is told in two lines.", ["inspect", "README.md"]),
)
SCRIPTS = (
    ("Act with an old policy in CartPole, without Ray.", "02_act_with_an_old_policy.py"),
    ("The environment has grown: adapt the policy.", "04_adapt_to_a_new_environment.py"),
    ("Save it in a form that outlives pickle.", "05_export_without_pickle.py"),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="folder of checkpoints")
    samples = parser.parse_args().samples

    for number, (question, arguments) in enumerate(STEPS, 1):
        print(f"\n{number}. {question}\n\n$ rlconnect {' '.join(arguments)}\n", flush=True)
        done = subprocess.run([sys.executable, "-m", "rlconnect", *arguments], cwd=samples)
        expected = 2 if arguments[-1] == "README.md" else 0
        if done.returncode != expected:
            sys.exit(f"that ended with {done.returncode}, where {expected} was expected.")
    for number, (title, script) in enumerate(SCRIPTS, len(STEPS) + 1):
        print(f"\n{number}. {title}\n\n$ python examples/{script}\n", flush=True)
        if subprocess.run([sys.executable, HERE / script]).returncode:
            sys.exit(f"{script} failed.")
    print("\nRead on: docs/legacy.md, and the other examples in their order.")


if __name__ == "__main__":
    main()
