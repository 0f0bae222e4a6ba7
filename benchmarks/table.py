"""One table and one chart of what rlconnect costs: beside Ray, and beside the bare limit.

    python benchmarks/table.py [--rounds 5] [--only REGEX] [--draw]

Runs the benchmarks next to this file on the cases below and writes what came out to
`results.json`, the table of `docs/performance.md` and the chart of the README. Ray takes part where
`RLC_RAY_PYTHON` names a Python that has it; without, its column is left out, and that is said.
`--draw` writes table and chart of the results that are there.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

from measure import chart, contest

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "performance.md"
CHART = HERE.parent / "docs" / "pictures" / "benchmarks.svg"
PLACE = re.compile(r"(?<=<!-- table -->\n)[\s\S]*?(?=<!-- end of table -->)")
RAY_PYTHON = "RLC_RAY_PYTHON"
ROWS = (
    ("from nothing to an old policy's first action", "load", "cartpole_mlp"),
    ("one step of an old policy", "legacy", "local_policy_inference.cartpole_mlp"),
    ("one step of an old LSTM", "legacy", "local_policy_inference.cartpole_lstm"),
    ("old pipeline, 256 agents", "legacy", "agent_pipeline.cartpole_mlp.a256"),
    ("new pipeline to the module, 64 episodes", "pipelines", "env_to_module.mlp.n64"),
    ("new pipeline to the env, 64 episodes", "pipelines", "module_to_env.mlp.n64"),
    ("sampling in one environment", "env_runners", "single.module.e1"),
    ("sampling in 64 environments", "env_runners", "single.module.e64"),
    ("a train batch of 32,000 steps", "train_batches", "box4.values.t32000"),
    ("one iteration of PPO", "ppo_iteration", "cartpole.iter"),
    ("200 steps of DQN, with priorities", "dqn_iteration", "cartpole.prioritized"),
    ("20 steps of SAC, a stream for each input", "dqn_iteration", "pendulum.sac_streams"),
)


def measured(script, cases, rounds, ray_python):
    """Seconds by case and backend, as a benchmark tells them."""
    line = [sys.executable, str(HERE / f"{script}.py"), "--json", "--rounds", str(rounds)]
    line += ["--ray-python", ray_python] if ray_python else []
    if script != "load":
        line += ["--filter", f"^({'|'.join(map(re.escape, cases))})$"]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{script}.py failed:\n{done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    if script != "load":
        return told["seconds"]
    return {
        case: {name: found["cpu"] for name, found in by_backend.items()}
        for case, by_backend in told["results"].items()
    }


def facts_of(seconds):
    """Ours in seconds, and how many times as long Ray and the fastest bare limit take."""
    middle = {name: found["median"] for name, found in seconds.items()}
    bare = [middle[name] for name in ("numpy", "torch") if name in middle]
    ours = middle["rlconnect"]
    return {
        "seconds": ours,
        "ray": middle["ray"] / ours if "ray" in middle else None,
        "limit": min(bare) / ours if bare else None,
    }


def all_measured(rounds, only, ray_python):
    """Everything that the table and the chart tell, as plain data."""
    chosen = [row for row in ROWS if re.search(only, f"{row[0]} {row[1]}")]
    rows = {}
    for script in dict.fromkeys(script for _, script, _ in chosen):
        cases = [case for _, its, case in chosen if its == script]
        print(f"{script}.py: {', '.join(cases)}", flush=True)
        found = measured(script, cases, min(rounds, 3) if script == "load" else rounds, ray_python)
        for name, its, case in chosen:
            if its == script:
                rows[name] = {**facts_of(found[case]), "command": command(script, case)}
    machine = {**contest.machine(), "processor": processor()}
    if ray_python:
        line = [ray_python, "-c", "from importlib.metadata import version; print(version('ray'))"]
        machine["ray"] = subprocess.run(line, capture_output=True, encoding="utf-8").stdout.strip()
    return {"date": date.today().isoformat(), "machine": machine, "rounds": rounds, "rows": rows}


def command(script, case):
    """What measures one row alone."""
    chosen = "" if script == "load" else f" --filter '^{case}$'"
    return f"python benchmarks/{script}.py{chosen}"


def processor():
    """What the machine calls its processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^model name\s*: (.+)$", text, re.M)
    return found[1] if found else ""


def table(results):
    """The table as Markdown, with the machine above and the commands below."""
    machine = results["machine"]
    has_ray = any(row["ray"] for row in results["rows"].values())
    versions = [
        f"{name} {machine[name]}"
        for name in ("python", *contest.PACKAGES, "ray")
        if name in machine
    ]
    where = ", ".join(filter(None, (machine["processor"], f"{machine['cores']} cores")))
    lines = [
        "",
        f"Measured on {results['date']}: {where}; {', '.join(versions)}. CPU time in one thread, "
        f"medians of {results['rounds']} rounds in turns. Ray and the limit are in times of ours: "
        "above 1 they take longer. The limit is the same network or the same stacking written bare."
        + ("" if has_ray else f" Ray is left out: `{RAY_PYTHON}` named no Python that has it."),
        "",
        "| what | ours | " + ("Ray | " if has_ray else "") + "limit |",
        "|---|--:|" + ("--:|" if has_ray else "") + "--:|",
    ]
    for name, row in results["rows"].items():
        ray = f"{_times(row['ray'])} | " if has_ray else ""
        lines.append(f"| {name} | {contest.told(row['seconds'])} | {ray}{_times(row['limit'])} |")
    lines += ["", "Each row by itself; `--ray-python PYTHON` adds Ray:", "", "```text"]
    lines += list(dict.fromkeys(row["command"] for row in results["rows"].values()))
    return "\n".join([*lines, "```", ""]) + "\n"


def _times(ratio):
    return "-" if ratio is None else f"{ratio:.2g} x" if ratio < 100 else f"{ratio:.0f} x"


def write(results):
    """Put table and chart where they are shown."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda _: table(results), text), encoding="utf-8")
    CHART.write_text(chart.ratio_bars(results["rows"]), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only rows that match; nothing is written")
    parser.add_argument("--draw", action="store_true", help="of the results that are there")
    args = parser.parse_args()
    if args.draw:
        write(json.loads(RESULTS.read_text(encoding="utf-8")))
        return 0
    results = all_measured(args.rounds, args.only, os.environ.get(RAY_PYTHON))
    print(table(results))
    if not args.only:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        write(results)
        print(f"wrote {RESULTS}, {PAGE} and {CHART}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
