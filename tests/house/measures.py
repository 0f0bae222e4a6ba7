"""The house on one page: `make house`.

A reach is `thing._name` where the file neither defines `_name` nor sets it on `self`. A file is
entered by a step if one of its functions is called in it.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.house.arrows import arrows, our_tree
from tests.house.imports import SRC, modules
from tests.house.rooms import circles, containers, floors, graph

TALL = 450
RECORDED = SRC.parent / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60"
PRIVATE = re.compile(r"(?<!\bself)(?<!\bcls)\._[^\W_]")
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def reaches(source: str) -> list[tuple[int, str]]:
    """The places of a file that use a private attribute of something defined elsewhere."""
    if not PRIVATE.search(source):
        return []
    tree = ast.parse(source)
    own, used = set(OF_TUPLES), []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute):
            of_self = getattr(node.value, "id", "") in {"self", "cls"}
            if of_self and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif not of_self and node.attr.startswith("_") and not node.attr.startswith("__"):
                used.append((node.lineno, node.attr))
    return [(line, name) for line, name in used if name not in own]


def lengths(source: str) -> Iterator[int]:
    """Lines of each function, its docstring among them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield (node.end_lineno or 0) - node.lineno + 1


def entered(step: Callable[[], Any]) -> set[str]:
    """The files of ours whose functions `step` calls."""
    found = set()

    def note(frame, event, _):
        if event == "call":
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    return {path for path in found if Path(path).is_relative_to(SRC)}


def old_steps() -> Iterator[tuple[str, set[str]]]:
    """Files entered by an observation, and by a batch, on their way through a recorded policy."""
    import numpy as np
    from rlconnect.legacy import Policy, batch_policy_inference, local_policy_inference

    policy = Policy.from_checkpoint(RECORDED, policy_ids=["default_policy"])["default_policy"]
    seen = np.zeros(policy.observation_space.shape, np.float32)

    def one() -> None:
        local_policy_inference(policy, "a", "b", seen)

    def batch() -> None:
        batch_policy_inference(policy, list("12345678"), ["b"] * 8, [seen] * 8)

    for name, step in {"one observation": one, "eight at once": batch}.items():
        step()
        yield name, entered(step)


def page() -> str:
    """Everything that is measured."""
    sources = {module: path.read_text(encoding="utf-8") for module, path in modules()}
    lines = {module: len(text.splitlines()) for module, text in sources.items()}
    by_layer: Counter[str] = Counter()
    for module, count in lines.items():
        by_layer[module.split(".")[0] or "(front)"] += count
    told = [f"src: {len(lines)} files, {sum(lines.values()):,} lines"]
    told += [f"    {layer:<12}{count:>8,}" for layer, count in by_layer.most_common()]
    tall = sorted(((count, name) for name, count in lines.items() if count > TALL), reverse=True)
    told.append(f"files above {TALL} lines: {len(tall)} {tall or ''}")
    sizes = sorted(size for text in sources.values() for size in lengths(text))
    told.append(
        f"functions: {len(sizes)}, median {sizes[len(sizes) // 2]} lines, "
        f"95 % within {sizes[int(len(sizes) * 0.95)]}, longest {sizes[-1]}"
    )
    found = {module: reaches(text) for module, text in sources.items()}
    told.append(
        f"reaches into another file's private attributes: {sum(map(len, found.values()))} "
        f"in {sum(map(bool, found.values()))} files"
    )
    uses = list(arrows(our_tree()))
    for package in containers(our_tree()):
        imported, everything = graph(package, uses, ["import"]), graph(package, uses)
        told.append(
            f"{package}: {len(imported)} rooms, {floors(imported)} floors, "
            f"{len(circles(imported))} circles ({len(circles(everything))} with tables of names)"
        )
        told += [f"    {' '.join(ring)}" for ring in circles(everything)]
    for name, files in old_steps():
        told.append(f"{name} through a recorded policy enters {len(files)} files")
    return "\n".join(told)


if __name__ == "__main__":
    print(page())
