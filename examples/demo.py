"""The whole story of an old policy, on a sample checkpoint: `make demo` runs this.

Ray 2.60 wrote the policy, no Ray is installed. It is looked at, it acts; its environment changes,
it is adapted, it moves to the new stack, it is proven that nothing else changed, and a client plays
against it. Each command is shown as you would type it, then run.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from rlconnect.cli.app import main as rlconnect

HERE = Path(__file__).parent
SAMPLE = HERE / "checkpoints" / "ppo-cartpole-ray-2.60"
CHANGED = "changed_cartpole:ChangedCartPole"
STEPS = ("--obs", "drop_features([4, 5])", "--action", "extend_action([0])")

STORY = (
    ("What is this checkpoint?", ["inspect", "{old}"], 0),
    ("It acts, without Ray.", ["rollout", "{old}", "--env", "CartPole-v1", "--episodes", "5"], 0),
    (
        "The environment has grown: two more features, one more action. What would absorb it?",
        ["adapt", "{old}", "--env", CHANGED],
        1,  # it asks
    ),
    (
        "We know what is new, so we say it.",
        ["adapt", "{old}", "--env", CHANGED, *STEPS, "--out", "{adapted}"],
        0,
    ),
    (
        "The same returns as before, in the changed environment.",
        ["rollout", "{adapted}", "--env", CHANGED, "--episodes", "5"],
        0,
    ),
    (
        "Over to the new stack, each step proven equal or taken back.",
        ["migrate", "{adapted}", "--out", "{migrated}"],
        0,
    ),
    (
        "Do both do the same? The page shows it.",
        ["verify", "{adapted}", "{migrated}", "--env", CHANGED, "--report", "{report}"],
        0,
    ),
    (
        "Old weights, new stack, changed environment.",
        ["rollout", "{migrated}", "--env", CHANGED, "--episodes", "5"],
        0,
    ),
)


def serve(policy, number):
    """Put a policy behind a port, and let a client play an episode against it."""
    from changed_cartpole import ChangedCartPole
    from rlconnect.serve import Client

    words = ["serve", str(policy), "--port", "0"]
    print(f"\n{number}. Behind a port, with a client that plays an episode against it.\n")
    print(f"$ rlconnect {' '.join(words)}\n", flush=True)
    command = [sys.executable, "-m", "rlconnect", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as server:
        line = server.stderr.readline()
        print(line, end="")
        if "serving" not in line:
            sys.exit("that did not serve.")
        with Client(line.split(" at ")[1].split(";")[0]) as client:
            (earned,) = client.env_loop(ChangedCartPole(), seed=0)
        server.terminate()
    print(f"\nThe client's episode earned {earned:g}; the server ended with {server.returncode}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, help="folder for what is written; a new one if left out"
    )
    out = parser.parse_args().out or Path(tempfile.mkdtemp(prefix="rlconnect-demo-"))
    places = {"old": SAMPLE, "adapted": out / "adapted", "migrated": out / "migrated"}
    places["report"] = out / "report.html"
    for number, (title, words, expected) in enumerate(STORY, 1):
        words = [word.format(**places) for word in words]
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        print(f"\n{number}. {title}\n\n$ rlconnect {shown}\n", flush=True)
        code = rlconnect(words)
        if code != expected:
            sys.exit(f"that ended with {code}, where {expected} was expected.")
    serve(places["migrated"], len(STORY) + 1)
    print(f"\nOpen {places['report']} in a browser. Read on: docs/adapting.md, and examples/.")


if __name__ == "__main__":
    main()
