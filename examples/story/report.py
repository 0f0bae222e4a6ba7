"""The story as one page, and its pictures for the documentation."""

from statistics import median

from rlconnect.core.pages.charts import alone, banded_curves, interval_rows
from rlconnect.core.pages.document import document, flow, pill, table


def pictures(facts):
    """The two pictures by name."""
    by_way = {}
    for curve in facts["curves"]:
        by_way.setdefault(curve.way, []).append(curve)
    lines = [
        (
            f"{way} ({len(runs)} seed{'s' * (len(runs) > 1)})",
            [(run.steps, run.returns) for run in runs],
        )
        for way, runs in by_way.items()
    ]
    old = facts["before"].mean
    rows = [
        (name, each.mean, each.mean - each.half_interval, each.mean + each.half_interval, True)
        for name, each in facts["lost"]
    ]
    return {
        "story-losses": interval_rows(
            rows, None, "Return of the old policy", "return of an episode"
        ),
        "story-curves": banded_curves(lines, old, "the old policy, adapted", "Return over steps"),
    }


def write_pictures(folder, drawn):
    """Each picture, by name, as an SVG that needs nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(alone(svg) + "\n", encoding="utf-8")


def write_page(path, facts):
    """The whole page."""
    drawn = {name: f"<div class=card>{svg}</div>" for name, svg in pictures(facts).items()}
    chain = [
        ("Ray 2.7.2, MLP and filter", f"return {facts['lost'][0][1].mean:.0f} in CartPole-v1"),
        ("the field", "velocities hidden, wind, battery"),
        ("adapted", f"return {facts['before'].mean:.0f}: velocities estimated"),
        ("grafted into an LSTM", "the same outputs, proven, 1e-6"),
        ("PPO, kickstarted", f"return {facts['again'].mean:.0f}, seeds new to it"),
        ("exported and served", "loaded, promoted"),
    ]
    again, before, serving = facts["again"], facts["before"], facts["serving"]
    earned = [
        (way, f"{median(r for r, _ in found):.1f}", ", ".join(f"{r:.0f}" for r, _ in found))
        for way, found in facts["earned"].items()
    ]
    stages = [(s, n, f"{r:.1f}", f"{share:.0%}") for s, n, r, share in serving["stages"]]
    took = [(name, f"{seconds:.1f}") for name, seconds in facts["took"].items()]
    body = [
        "<h1>A policy's next life</h1>",
        pill(f"{before.mean:.0f} became {again.mean:.0f}", is_good=again.mean > before.mean),
        "<p class=soft>A policy that Ray 2.7.2 trained in CartPole, adapted to a changed "
        "environment, grafted into a network with memory, trained on, and served.</p>",
        f"<div class=card>{flow(chain)}</div>",
        "<h2>What the changes cost</h2>",
        drawn["story-losses"],
        "<p class=soft>Return without exploring, with the interval in which the mean lies by "
        "95 %. Velocities are differences of positions.</p>",
        "<h2>How new networks learn</h2>",
        drawn["story-curves"],
        "<p class=soft>Median of all seeds and the range between the lowest and the highest, "
        "exploring; steps of lessons count. The broken line is the old policy, adapted.</p>",
        "<h2>What they earn in the end</h2>",
        f"<div class=card>{table(('way', 'median', 'each seed'), earned)}</div>",
        f"<p>The best grafted one, on seeds that neither training nor this choice has seen: "
        f"{again.mean:.1f} ± {again.half_interval:.1f}; the old one {before.mean:.1f} ± "
        f"{before.half_interval:.1f}.</p>",
        "<h2>While it is served</h2>",
        f"<div class=card>{table(('stage', 'episodes', 'return', 'by the new one'), stages)}</div>",
        f"<p>{serving['steps']:,} steps were played; none was lost, and each answer is what "
        "the policy of its version does by itself.</p>",
        "<h2>How long it took</h2>",
        f"<div class=card>{table(('part', 'seconds'), took)}</div>",
    ]
    path.write_text(document("A policy's next life", body), encoding="utf-8")
    return path
