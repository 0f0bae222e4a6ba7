"""The gallery of examples: the page is made of the scripts and of what they print.

    python -m tests.docs.gallery

runs each of them and writes `docs/gallery.md`. `tests/test_examples.py` runs them as well and holds
what they print against the page: words as they are, numbers within a tolerance.
"""

import ast
import math
import os
import re
import sys
import tempfile
from pathlib import Path

from gymnasium.spaces import Box, Discrete
from rlconnect.adapters import AdapterChain, DropFeatures, InsertFeatures, Scale
from rlconnect.core.adapters.drawing import wiring_of
from rlconnect.core.pages.charts import alone

from tests import warm

from .blocks import DOCS, ROOT

PAGE = DOCS / "gallery.md"
PICTURES = DOCS / "pictures"
ADAPTER = "07_changed_observations.svg"
EXAMPLES = sorted(path.name for path in ROOT.glob("examples/[0-9]*.py"))
FIRST, LAST = 5, 3
"""Lines of a longer output that the page shows."""
CUT = "(and so on)"
TIMED = re.compile(r"us an answer|actions/s|poles fell")
"""Lines whose numbers depend on the machine."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
OUTPUT = re.compile(r"<!-- output: (\S+) -->\n\n```text\n([\s\S]*?)^```$", re.M)
SOURCE = re.compile(r"<!-- source: (\S+) -->")
INTRO = """\
# Gallery of examples

Short scripts in `examples/`, with what they print. `make demo` shows one policy in commands,
[the case study](case-study.md) its whole life.
"""


def run(arguments, folder):
    """Run Python in a folder, as a reader would: an example by its name, or with arguments."""
    if isinstance(arguments, str):
        arguments = [str(ROOT / "examples" / arguments)]
    return warm.run(
        arguments, folder, {**os.environ, "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}
    )


def shown(printed):
    """What the page shows of what was printed."""
    lines = [line.rstrip() for line in printed.replace(f"{ROOT}/", "").strip("\n").splitlines()]
    cut = [*lines[:FIRST], CUT, *lines[-LAST:]] if len(lines) > FIRST + LAST + 1 else lines
    return "\n".join(cut) + "\n"


def recorded():
    """What the page shows of each example."""
    return dict(OUTPUT.findall(PAGE.read_text(encoding="utf-8")))


def differences(expected, printed):
    """The lines in which what was printed is not what the page shows."""
    theirs, ours = expected.splitlines(), shown(printed).splitlines()
    if len(theirs) != len(ours):
        return [f"{len(ours)} lines instead of {len(theirs)}"]
    return [mine for its, mine in zip(theirs, ours, strict=True) if not _is_like(its, mine)]


def _is_like(expected, found):
    if TIMED.search(expected):
        return TIMED.search(found) is not None
    if " ".join(NUMBER.sub("#", expected).split()) != " ".join(NUMBER.sub("#", found).split()):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(found), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=0.02, abs_tol=1e-3) for a, b in pairs)


def page(outputs):
    """The page, made of the scripts and of what they printed."""
    parts = [INTRO]
    for example in EXAMPLES:
        title, *paragraphs = _docstring(example).split("\n\n")
        calls = [each for each in paragraphs if each.startswith("    ")]
        prose = [each for each in paragraphs if not each.startswith("    ")]
        picture = _picture(example)
        parts += [
            f"## {title.strip().rstrip('.')}",
            *(" ".join(each.split()) for each in prose),
            "```sh\n" + "\n".join(each.strip() for each in "\n".join(calls).splitlines()) + "\n```",
            f"<!-- source: {example} -->",
            f"<!-- output: {example} -->\n\n```text\n{outputs[example]}```",
            *([f"![{title.strip()}](pictures/{picture})"] if picture else []),
        ]
    return "\n\n".join(each.strip("\n") for each in parts) + "\n"


def with_sources(text):
    """A page of the site with each script at its place, folded."""

    def folded(found):
        source = (ROOT / "examples" / found[1]).read_text(encoding="utf-8")
        code = re.sub(r'\A"""[\s\S]*?"""\n+', "", source)
        inner = "\n".join(f"    {line}".rstrip() for line in code.splitlines())
        return f'??? example "examples/{found[1]}"\n\n    ```python\n{inner}\n    ```'

    return SOURCE.sub(folded, text)


def _docstring(example):
    source = (ROOT / "examples" / example).read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source))


def _picture(example):
    found = sorted(PICTURES.glob(f"{Path(example).stem}.*"))
    return found[0].name if found else ""


def adapter_picture():
    """A number left out, one in other units, one that is gone: where each of them goes."""
    steps = [DropFeatures([2]), Scale([0.01, 1, 1]), InsertFeatures([2], [0.5])]
    bound = AdapterChain(obs=steps).bind(Box(-1, 1, (4,)), Discrete(2))
    ends = (bound.env_observation_space, bound.observation_space)
    found = wiring_of(*ends, lambda value: [bound.observe(value)], "obs")
    return alone(found.drawn(("environment", "policy"))) + "\n"


def main():
    """Run the examples and write the page, and the pictures that they make."""
    outputs = {}
    for example in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            done = run(example, folder)
            if done.returncode:
                sys.exit(f"{example}: {done.stderr}")
            outputs[example] = shown(done.stdout)
            for made in Path(folder).glob("*.gif"):
                (PICTURES / f"{Path(example).stem}.gif").write_bytes(made.read_bytes())
    (PICTURES / ADAPTER).write_text(adapter_picture(), encoding="utf-8")
    PAGE.write_text(page(outputs), encoding="utf-8")
    print(f"{PAGE}: {len(outputs)} examples")


if __name__ == "__main__":
    main()
