"""The reference: a page for each group of public names, made of signatures and docstrings.

`front(name)` says what a front door serves and `pages()` gives the Markdown of all pages, by path.
What has no example in its docstring is shown with what `excerpts` finds of one.
"""

import inspect
import re
import textwrap
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from .blocks import PAGES, python_blocks, title_of
from .excerpts import excerpts, name_key

FRONTS = {
    "": "The front door: whatever lies at a path, loaded, adapted, migrated, proven.",
    "legacy": "The old stack by RLlib's names: policies, connectors, models, batches.",
    "v2": "The new stack by RLlib's names: configs, episodes, connectors, modules, learners.",
    "bridge": "Both stacks in one: adapting, migrating, proving, exporting.",
    "offline": "Recorded data of any release: read, learnt from, judged by, written.",
    "serve": "A policy behind a port, and its clients.",
    "core.adapters": "Steps that absorb what changed in an environment.",
    "core.vault": "What a checkpoint holds, as plain data.",
    "core.errors": "What can go wrong.",
}
SECTION = re.compile(
    r"^(Args|Returns|Yields|Raises|Warns|Attributes|Example|Examples|Note):\n", re.M
)
WIDE = r"\_\_"  # as Markdown has it
LARGE = ("legacy", "v2")  # a page for each of their packages
NETWORKS = [  # what modules are made of has a page of its own
    f".modules.{each}"
    for each in ("encoders", "heads", "layers", "network_configs", "networks", "torch_model")
]


class Name(NamedTuple):
    """A public name: where it is served, what it is, and the page that it is on."""

    front: str
    name: str
    value: object
    page: str

    @property
    def link(self):
        return f"{self.page}#{self.name.strip('_')}"


def served(front):
    """The public names of a front door."""
    home = import_module(f"rlconnect.{front}".rstrip("."))
    names = getattr(home, "__all__", None) or [
        name
        for name, value in vars(home).items()
        if isinstance(value, type) and value.__module__ == home.__name__
    ]
    return [Name(front, each, getattr(home, each), page_of(front, home, each)) for each in names]


def page_of(front, home, name):
    """The page of a name: the front's, or that of the package of it which has the name."""
    if front not in LARGE:
        return f"reference/{front.replace('.', '-') or 'rlconnect'}.md"
    path = home._HOME[name].partition(":")[0]
    group = "networks" if path in NETWORKS else path.split(".")[1] or "formulas"
    return f"reference/{front}-{group.replace('_', '-')}.md"


def example_in(value):
    """Whether a docstring carries an example."""
    return ">>> " in (inspect.getdoc(value) or "")


def excerpt_of(item):
    """Code that shows a name in use; None where there is none."""
    return excerpts().get(name_key(f"rlconnect.{item.front}".rstrip("."), item.name, item.value))


def users_of():
    """{name: pages whose code uses it}, in the order of the pages."""
    found = {}
    for page in PAGES:
        words = set(re.findall(r"\w+", "\n".join(python_blocks(page))))
        for word in words:
            found.setdefault(word, []).append(page)
    return found


def signature(name, value):
    """How it is called, one argument a line where it is long."""
    try:
        shown = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    taken = [each for each in shown.parameters.values() if each.name not in ("self", "cls")]
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parts = []
    for each in taken:
        if each.kind is each.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        text = stars.get(each.kind, "") + each.name
        if each.annotation is not each.empty:
            text += f": {as_written(each.annotation)}"
        if each.default is not each.empty:
            text += f" = {default(each.default)}" if ":" in text else f"={default(each.default)}"
        parts.append(text)
    ends = shown.return_annotation
    gives = "" if ends is shown.empty or isinstance(value, type) else f" -> {as_written(ends)}"
    line = f"{name}({', '.join(parts)}){gives}"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){gives}"


def as_written(annotation):
    """An annotation as the source has it."""
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")


def default(value):
    """A default, without the place in memory that some would show."""
    text = textwrap.shorten(repr(value), 60)
    return getattr(value, "__name__", "...") if text.startswith("<") else text


def prose(text):
    """A Google docstring as Markdown."""
    before, *sections = SECTION.split(inspect.cleandoc(text))
    said = [before.rstrip()]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        inside, _, after = re.match(r"((?:[ ]+.*\n?|\n)*)()([\s\S]*)", body).groups()
        inside = textwrap.dedent(inside).strip("\n")
        if title.startswith("Example"):
            inside = f"```pycon\n{inside}\n```"
        elif title in ("Args", "Raises", "Warns", "Attributes"):
            inside = re.sub(
                r"^(\*{0,2}\w[\w., *]*?)(?: \(.*?\))?: ?", r"- `\1`: ", inside, flags=re.M
            )
        said += [f"**{title}**", inside, after.strip()]
    return "\n\n".join(each for each in said if each)


def first_sentence(value):
    """What a docstring says first, on one line."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return text.split(" Args:")[0]


def methods(value, public):
    """(name, function) of what a class has that no other public class hands on to it."""
    seen = set()
    elsewhere = {each for base in value.__mro__[1:] if base in public for each in base.__mro__}
    for base in value.__mro__:
        if base in elsewhere or not base.__module__.startswith("rlconnect"):
            continue
        for name, each in vars(base).items():
            function = getattr(each, "__func__", each)
            function = getattr(function, "fget", getattr(function, "func", function))
            if name.startswith("_") or name in seen or not callable(function):
                continue
            if isinstance(function, type) or not getattr(function, "__doc__", None):
                continue
            seen.add(name)
            yield name, each, function


def entry(item, public, users, folder):
    """The Markdown of one name."""
    value = item.value
    said = [f"## {item.name.replace('__', WIDE)} {{#{item.name.strip('_')}}}"]
    if isinstance(value, ModuleType):
        path = value.__name__.removeprefix("rlconnect.")
        return "\n\n".join([*said, f"The module `rlconnect.{path}`.", prose(value.__doc__ or "")])
    is_called = isinstance(value, type) or inspect.isroutine(value)
    if is_called:
        kind = "class " if isinstance(value, type) else ""
        said.append(f"```python\n{kind}{signature(item.name, value)}\n```")
        said.append(prose(inspect.getdoc(value) or ""))
    else:
        said.append(f"```python\n{item.name} = {textwrap.shorten(repr(value), 300)}\n```")
    if not example_in(value):
        shown = excerpt_of(item)
        said += ["**Example**", f"```{shown.kind}\n{shown.code}\n```"]
        if shown.page:
            said.append(f"From [{title_of(shown.page)}]({folder}{shown.page}).")
    pages = users.get(item.name, [])
    if pages and is_called:
        links = [f"[{title_of(page)}]({folder}{page})" for page in pages[:6]]
        said.append("Used in: " + ", ".join(links) + ".")
    if isinstance(value, type):
        bases = [base for base in value.__mro__[1:] if base in public]
        if bases:
            base = public[bases[0]]
            where = base.link.removeprefix("reference/")
            said.append(f"Has all of [`{base.name}`]({where}), too.")
        for name, each, function in methods(value, public):
            if isinstance(each, property) or not inspect.isroutine(function):
                head = f"{name}"
            else:
                head = signature(name, function)
            said += [f"### `{item.name}.{name}` {{#{item.name}.{name}}}"]
            if head != name:
                said.append(f"```python\n{head}\n```")
            said.append(prose(function.__doc__))
    return "\n\n".join(each for each in said if each)


def names():
    """All public names, each under every front that serves it."""
    return [each for front in FRONTS for each in served(front)]


def pages():
    """{path: Markdown} of the reference."""
    everything, users = names(), users_of()
    public = {each.value: each for each in reversed(everything) if isinstance(each.value, type)}
    by_page = {}
    for each in everything:
        by_page.setdefault(each.page, []).append(each)
    said = {"reference/index.md": index(everything)}
    for page, items in by_page.items():
        front = items[0].front
        package = f"rlconnect.{front}".rstrip(".")
        title = page.removeprefix("reference/").removesuffix(".md")
        group = title.removeprefix(f"{front}-") if front in LARGE else ""
        head = f"# {package}{': ' + group if group else ''}\n\n"
        head += FRONTS[front] if not group else f"`from {package} import ...`"
        said[page] = "\n\n".join(
            [head, *(entry(each, public, users, "../") for each in sorted(items, key=_by_name))]
        )
    return said


def _by_name(item):
    return item.name.lower()


def index(everything):
    """Every public name on one page, with its first sentence."""
    lines = [
        "# Reference",
        "Every public name, made from its signature and docstring. What is not here may change.",
    ]
    for front, what in FRONTS.items():
        package = f"rlconnect.{front}".rstrip(".")
        lines += [f"## {package}", what, "| name | |\n|---|---|"]
        rows = []
        for each in sorted((e for e in everything if e.front == front), key=_by_name):
            is_plain = not (isinstance(each.value, (type, ModuleType)) or callable(each.value))
            what = "" if is_plain else first_sentence(each.value).replace("|", "\\|")
            rows.append(f"| [`{each.name}`]({each.link.removeprefix('reference/')}) | {what} |")
        lines[-1] += "\n" + "\n".join(rows)
    return "\n\n".join(lines) + "\n"
