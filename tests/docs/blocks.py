"""The pages of the documentation, and the code on them."""

import re
import textwrap
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
"""Every page, by its path below `docs`."""

FENCE = re.compile(
    r"^(?P<left><!-- not run: .+ -->\n)?(?P<dent> *)```(?P<kind>\w+)?(?P<options>.*)\n"
    r"(?P<code>[\s\S]*?)^(?P=dent)```$",
    re.M,
)
# Pages whose blocks are parts of programs: `test_docs` and the tests of their commands read them.
PARTS = {"cookbook.md", "custom-networks.md", "one-door.md", "train.md", "v2.md"}
RUNS = ("python", "pycon", "sh")


@cache
def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def title_of(page):
    """What a page is called."""
    return re.search(r"^# (.+)$", text_of(page), re.M)[1]


def fences(page):
    """(kind, options, code) of the blocks of a page that are to run, in order."""
    return [
        (found["kind"], found["options"], textwrap.dedent(found["code"]))
        for found in FENCE.finditer(text_of(page))
        if found["kind"] in RUNS and not found["left"]
    ]


def python_blocks(page):
    """The Python of a page, as it is shown."""
    fenced = [textwrap.dedent(each["code"]) for each in FENCE.finditer(text_of(page))]
    dented = re.findall(r"((?:^(?: {4}.*)?\n)+)", text_of(page), re.M)
    return [each for each in [*fenced, *dented] if re.search(r"^\s*(import|from) ", each, re.M)]
