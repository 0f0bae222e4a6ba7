"""Our sources look up, import, make and write only where a reason is given for it."""

from pathlib import Path

import pytest

from tests.trust.sites import sites, sites_of

LIST = Path(__file__).parent / "allowed.txt"


def allowed():
    """Reasons by file, kind and expression."""
    lines = [
        line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    entries = [
        (*line.split(" | ", 2)[:2], *line.split(" | ", 2)[2].rsplit(" | ", 1)) for line in lines
    ]
    return {tuple(place): why for *place, why in entries}


def test_every_place_has_its_reason():
    """A new one is told with its line: it needs an entry in the list, and a second pair of eyes."""
    known = allowed()

    new = [
        f"{file}:{lines[0]} | {kind} | {what}"
        for (file, kind, what), lines in sites().items()
        if (file, kind, what) not in known
    ]
    assert new == []


def test_every_reason_has_its_place():
    """An entry that nothing in the sources answers to any more is taken out."""
    assert sorted(set(allowed()) - set(sites())) == []


def test_reasons_say_something():
    """A reason is a few words."""
    assert [place for place, why in allowed().items() if len(why.split()) < 3] == []


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("from importlib import import_module\nimport_module(name)", "import"),
        ("importlib.import_module('os')", "import"),
        ("__import__(name)", "import"),
        ("exec(text)", "exec"),
        ("builtins.eval(text)", "exec"),
        ("compile(text, '', 'exec')", "exec"),
        ("getattr(thing, name)", "getattr"),
        ("getattr(thing, f'{a}_b', None)", "getattr"),
        ("vars(thing)[name]", "getattr"),
        ("vars(thing).get(name)", "getattr"),
        ("globals()[name]", "getattr"),
        ("thing.__dict__[name]", "getattr"),
        ("operator.attrgetter(name)", "getattr"),
        ("sys.modules[name]", "loaded"),
        ("sys.modules.get(name)", "loaded"),
        ("import subprocess", "run"),
        ("from subprocess import Popen", "run"),
        ("os.system(line)", "run"),
        ("import ctypes", "run"),
        ("pickle.load(file)", "unpickle"),
        ("pickle.loads(data)", "unpickle"),
        ("class A(pickle.Unpickler): ...\nA(x)\npickle.Unpickler(x)", "unpickle"),
        ("torch.load(path)", "unpickle"),
        ("np.load(path, allow_pickle=False)", "unpickle"),
        ("gym.make(name)", "make"),
        ("gymnasium.make_vec(name)", "make"),
        ("open(path, 'w')", "write"),
        ("open(path, mode=kind)", "write"),
        ("path.open('ab')", "write"),
        ("os.open(path, flags)", "write"),
        ("path.write_text(text)", "write"),
        ("path.write_bytes(data)", "write"),
    ],
)
def test_each_kind_is_seen(source, kind):
    """Whatever the way it is written."""
    assert kind in {found for found, _, _ in sites_of(source)}


@pytest.mark.parametrize(
    "source",
    [
        "getattr(thing, 'name', None)",
        "sys.modules['torch'].cat(parts)",
        "re.compile(pattern)",
        "module.eval()",
        "open(path)",
        "open(path, 'rb')",
        "open(path, encoding='utf-8')",
        "json.loads(text)",
        "vars(thing)['name']",
        "rlconnect.load(path)",
    ],
)
def test_harmless_code_is_passed_over(source):
    """Literals, readers and namesakes."""
    assert list(sites_of(source)) == []
