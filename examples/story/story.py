"""A policy's next life, from an old checkpoint to a better policy behind a port: `make story`.

Ray 2.7.2 trained the old one; no Ray is here. It is looked at, adapted to a changed environment,
taught and grafted into networks with memory; they train on, the best is exported, and takes over
from the old one behind a port while a client plays. Each step checks itself.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import rlconnect
from field_cart import FieldCart
from learning import SEES, WAYS, adapted, learnt
from report import pictures, write_page, write_pictures
from serving import served

OLD = Path(__file__).parents[1] / "checkpoints" / "ppo-cartpole-ray-2.7"
CALM = {"noise": 0.0, "wind": 0.0, "drain": 0.0}
CHANGES = (
    ("velocities hidden", CALM),
    ("and a cheaper sensor", {**CALM, "noise": 0.003}),
    ("and wind", {"drain": 0.0}),
    ("and a failing battery", {}),
)


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def tell(text):
    print(f"  {text}", flush=True)


def earns(policy, env, episodes):
    """What a policy earns without exploring; seeds that no training has seen."""
    return rlconnect.rollout(policy, env, episodes=episodes, seed=10_000)


def losses(episodes):
    """What the changes of the environment cost the old policy, one upon the other."""
    rows = [("at home, in CartPole-v1", earns(OLD, "CartPole-v1", episodes))]
    rows.append(("in the field, as it is", earns(OLD, FieldCart(), episodes)))
    for name, config in CHANGES:
        env = FieldCart(config)
        policy = rlconnect.adapt(OLD, env=env, obs=SEES)
        rows.append((name, earns(policy, env, episodes)))
    for name, played in rows:
        tell(f"{name:42} {played.mean:6.1f} ± {played.half_interval:.1f}")
    return rows


def trained(out, seeds, steps, lessons):
    """All ways with all seeds, two at a time; one seed alone, one at a time."""
    curves = []
    with ProcessPoolExecutor(min(2, seeds), mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(learnt, way, seed, OLD, out / "runs" / f"{way}-{seed}", steps, lessons)
            for seed in range(seeds)
            for way in WAYS
        ]
        for job in as_completed(jobs):
            curve = job.result()
            curves.append(curve)
            tell(f"[{len(curves):2}/{len(jobs)}] {curve.way:8} seed {curve.seed}: "
                 f"{curve.returns[-1]:5.1f} after {curve.steps[-1]:,} steps, "
                 f"{curve.seconds:.0f} s of CPU")  # fmt: skip
    return sorted(curves, key=lambda each: (WAYS.index(each.way), each.seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for all files; a new one if left out")
    parser.add_argument("--seeds", type=int, default=5, help="how many of each way")
    parser.add_argument("--steps", type=int, default=100_000, help="environment steps of each")
    parser.add_argument("--quick", action="store_true", help="a look at the way, not at results")
    parser.add_argument("--write-docs", type=Path, help="folder for the pictures of the page")
    asked = parser.parse_args()
    out = asked.out or Path(tempfile.mkdtemp(prefix="rlconnect-story-"))
    seeds, steps, lessons, episodes = asked.seeds, asked.steps, 20_000, 20
    if asked.quick:
        seeds, steps, lessons, episodes = 1, 2_048, 250, 2
    begun, took = time.perf_counter(), {}

    def done(name):
        took[name] = time.perf_counter() - begun - sum(took.values())

    title("1. An old policy, written by Ray 2.7.2")
    policy = rlconnect.load(OLD).only
    tell(f"{policy}")

    title("2. Its cart goes out into the field. What does that cost?")
    lost = losses(episodes)
    home, field = lost[0][1], lost[-1][1]
    assert home.mean > 450, "the old policy should be a good one at home"
    assert field.mean < home.mean, "the field should be harder than home"
    old = adapted(OLD)
    old.save(out / "old-adapted")
    done("adapting")

    title(f"3. New networks with memory: {', '.join(WAYS)}; {seeds} of each")
    curves = trained(out, seeds, steps, lessons)
    assert all("equal" in each.told for each in curves if each.way == "grafted")
    done("learning")

    title("4. Which is best, played without exploring?")
    earned = {way: [] for way in WAYS}
    for each in curves:
        earned[each.way].append((earns(each.folder, FieldCart(), episodes).mean, each))
    for way, found in earned.items():
        tell(f"{way:8} median {median(r for r, _ in found):5.1f}, "
             f"all {', '.join(f'{r:.0f}' for r, _ in found)}")  # fmt: skip
    best = max(earned["grafted"], key=lambda each: each[0])[1]
    again = rlconnect.rollout(best.folder, FieldCart(), episodes=2 * episodes, seed=50_000)
    before = rlconnect.rollout(old, FieldCart(), episodes=2 * episodes, seed=50_000)
    tell("the best grafted one and the old one, on seeds new to the choice: "
         f"{again.mean:.1f} ± {again.half_interval:.1f}, "
         f"{before.mean:.1f} ± {before.half_interval:.1f}")  # fmt: skip
    if not asked.quick:
        assert again.mean > before.mean, "the grafted policy should beat the old one"
    done("comparing")

    title("5. Exported as one file, and held to what it came from")
    exported = out / "policy.onnx"
    rlconnect.export(best.folder, exported)
    verdict = rlconnect.verify(best.folder, rlconnect.load(exported, allow_program=True))
    tell(verdict.summary()["words"])
    assert verdict.is_equal, "the exported file should do the same"
    done("exporting")

    title("6. Behind a port: loaded and promoted, while a client plays on")
    serving = served(out / "old-adapted", exported, 2 if asked.quick else 12, tell)
    tell(f"{serving['steps']:,} steps, none lost, none answered wrongly")
    done("serving")

    seconds = time.perf_counter() - begun
    facts = {
        "lost": lost, "curves": curves, "earned": earned, "best": best, "again": again,
        "before": before, "serving": serving, "took": took, "seconds": seconds, "verdict": verdict,
    }  # fmt: skip
    page = write_page(out / "story.html", facts)
    if asked.write_docs:
        write_pictures(asked.write_docs, pictures(facts))
    print(f"\n{seconds:.0f} s. Open {page} in a browser. Read on: docs/case-study.md")


if __name__ == "__main__":
    main()
