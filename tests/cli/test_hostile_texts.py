"""Whatever a checkpoint says of itself, no page raises, acts on a terminal or follows markup."""

import io
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rlconnect.bridge.adapting.adapt import Suggestion
from rlconnect.bridge.adapting.changes import Change, SpaceDiff
from rlconnect.bridge.proof.page import page_of
from rlconnect.bridge.proof.verify import Returns, Verdict
from rlconnect.bridge.rollout import Played
from rlconnect.bridge.twins.twin import MigrationStep, Twin
from rlconnect.cli.adapt_page import adapt_page, next_command
from rlconnect.cli.audit_page import audit_page
from rlconnect.cli.convert_command import convert_page
from rlconnect.cli.export_command import written_lines
from rlconnect.cli.inspect_page import inspect_page, next_lines
from rlconnect.cli.migrate_page import history_lines, migrate_page, undone_lines, ways_lines
from rlconnect.cli.rollout_page import rollout_page
from rlconnect.cli.scan_table import ScanRow, lines_below, scan_table
from rlconnect.cli.theme import THEME
from rlconnect.cli.verify_page import verify_page
from rlconnect.core import errors
from rlconnect.core.adapters.chain import AdapterChain
from rlconnect.core.arrays.stage_differences import DECADES, StageComparison
from rlconnect.core.text.visible import visible_html, visible_lines
from rlconnect.core.vault import (
    Checkpoint,
    ComponentRecord,
    ConnectorRecord,
    FilterRecord,
    ForeignReference,
    ModuleRecord,
    PolicyRecord,
    Problem,
    WeightTable,
)
from rlconnect.core.vault.audit.files import Audit
from rlconnect.core.vault.convert import Conversion
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.core.vault.description import describe_checkpoint
from rlconnect.core.vault.records.records import CallRecord

MARKUP = "[red]x[/red][link=http://x]"
TEXT = st.one_of(
    st.sampled_from(["\x1b[2J", "\u202egnp", MARKUP, "<b>", "a\nhint: b", "\ud800", "\0"]),
    st.text(st.characters(), max_size=12),
)
VALUE = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.binary(max_size=4),
        st.builds(GlobalRef, TEXT, TEXT), st.just(np.float32(1)), st.just(np.ones(2)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(TEXT, inner, max_size=3),
        st.tuples(inner),
        st.builds(Opaque, st.builds(GlobalRef, TEXT, TEXT), st.tuples(inner)),
    ),
    max_leaves=6,
)  # fmt: skip
SETTINGS = st.dictionaries(
    st.one_of(TEXT, st.sampled_from(["exploration_config", "model", "env", "framework"])),
    st.one_of(VALUE, st.dictionaries(st.sampled_from(["type", "fcnet_hiddens"]), VALUE)),
    max_size=4,
)  # fmt: skip
WEIGHTS = st.builds(
    WeightTable,
    st.dictionaries(TEXT, st.sampled_from([np.ones(2), np.zeros((0, 2)), np.array([np.nan])])),
)
PIECE = st.builds(ConnectorRecord, TEXT, VALUE, TEXT)
PIPELINE = st.builds(
    lambda name, pieces: ConnectorRecord(name, children=tuple(pieces)),
    TEXT,
    st.lists(PIECE, max_size=2),
)
FILTER = st.builds(
    FilterRecord,
    TEXT,
    st.sampled_from([(1,), (3,)]),
    st.just((np.ones(2),)),
    st.just((np.ones(2),)),
    where=TEXT,
)
POLICY = st.builds(
    PolicyRecord, TEXT, TEXT, TEXT, TEXT, config=SETTINGS, weights=WEIGHTS, where=TEXT,
    agent_connectors=PIPELINE, action_connectors=st.none() | PIPELINE,
    filters=st.lists(FILTER, max_size=1).map(tuple),
)  # fmt: skip
MODULE = st.builds(
    ModuleRecord, TEXT, TEXT, TEXT, model_config=SETTINGS, weights=WEIGHTS, where=TEXT
)
CALL = st.builds(
    CallRecord, TEXT, st.sampled_from(["runner", "author", "unknown", "rebuilding"]), TEXT,
    st.sampled_from(["called", "named", "changed"]), TEXT, st.integers(1, 9), TEXT,
)  # fmt: skip
CALLS = st.lists(CALL, max_size=3).map(tuple)
PROBLEMS = st.lists(
    st.builds(Problem, TEXT, TEXT, TEXT, st.sampled_from(["note", "missing", "damaged"])),
    max_size=2,
).map(tuple)
CHECKPOINT = st.builds(
    Checkpoint, st.just("/tmp/x"), st.sampled_from(["algorithm", "policy", "component"]),
    st.sampled_from(["old", "new", "rlconnect"]), TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT,
    policies=st.dictionaries(TEXT, POLICY, max_size=2),
    modules=st.dictionaries(TEXT, MODULE, max_size=1),
    components=st.lists(
        st.builds(ComponentRecord, TEXT, TEXT, pieces=st.lists(PIECE, max_size=2).map(tuple)),
        max_size=1,
    ).map(tuple),
    config=SETTINGS, counters=SETTINGS,
    foreign=st.lists(st.builds(ForeignReference, TEXT, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    unsafe=CALLS, skipped=st.lists(TEXT, max_size=2).map(tuple), problems=PROBLEMS,
)  # fmt: skip


def printed(*pages):
    """What a terminal would get, colours left out."""
    out = io.StringIO()
    console = Console(file=out, theme=THEME, width=100, highlight=False, markup=False, emoji=False)
    for page in pages:
        console.print(page)
    return out.getvalue()


def check(text):
    """Nothing but printable characters and our own line breaks."""
    assert [c for c in text if not c.isprintable() and c != "\n"] == []


@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(CHECKPOINT)
def test_inspect_shows_anything(checkpoint):
    """Configs, names, weights and texts of any form and spelling, settings that are dicts too."""
    described = describe_checkpoint(checkpoint)

    page = printed(inspect_page(checkpoint, described, with_weights=True))

    check(page)
    check(printed(*next_lines(described["next"])))


@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
@given(TEXT, CALLS, PROBLEMS)
def test_audit_and_convert_show_anything(text, calls, problems):
    """The pages made for hostile files are the last that may fall for them."""
    check(printed(audit_page(Audit(text, calls, (text,), problems))))
    check(printed(*convert_page(Conversion(text, text, "policy", (text,), 1, 1, problems))))


@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
@given(TEXT, TEXT, st.sampled_from(["complete", "unsafe", "damaged"]))
def test_scan_shows_anything(path, text, level):
    """A row for a file that lies about everything."""
    row = ScanRow(f"/tmp/{path}", text, text, text, text, 1, 1, level, text)

    check(printed(scan_table("/tmp", [row]), *lines_below("/tmp", [row])))


STAGE = st.builds(
    StageComparison, TEXT, st.just(1), st.just(0.5), st.just((0.0, 0.0, 0.5)), st.integers(0, 1),
    st.just(0.5), st.just((1,) * (len(DECADES) + 2)), TEXT,
)  # fmt: skip


@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
@given(TEXT, TEXT, TEXT, st.lists(STAGE, min_size=1, max_size=2))
def test_verify_shows_anything(ours, theirs, text, stages):
    """On a terminal and as HTML, charts with what their names say too."""
    returns = Returns((1.0, 2.0), (1.0, 3.0))
    pieces = ((ours, text), (text, theirs))
    verdict = Verdict(ours, theirs, tuple(stages), 3, text, (1e-5, 1e-5), returns, pieces)

    check(printed(verify_page(verdict)))
    check(page_of(verdict))
    assert "<b>" not in page_of(verdict)


@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
@given(TEXT, TEXT, st.sampled_from(["native", "gone", "wrapped", "code"]))
def test_migrate_shows_anything(text, name, kind):
    """Pieces of an author's own, with reasons and code that quote them."""
    step = MigrationStep(name, "agent", 0, Twin(kind, text, text, snippet=text))
    step.proof = {"words": text}
    policy = SimpleNamespace(name=name, algorithm=text, config={"env": text})
    plan = SimpleNamespace(policy=policy, steps=[step])

    lines = [*ways_lines(text, plan, None), *ways_lines(text, plan, text)]
    check(printed(migrate_page(text, plan), *lines))


@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
@given(TEXT, TEXT)
def test_migration_history_shows_anything(text, name):
    """Dates, commands and versions that a stranger's folder tells."""
    entry = {"date": text, "command": name, "versions": {name: text}, "applied": [text]}
    plan = SimpleNamespace(steps=[], origin={"path": text, "checksum": name}, history=[entry])

    check(printed(*history_lines(plan), *undone_lines([text, name], text, dry_run=False)))


@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
@given(TEXT, TEXT, st.booleans())
def test_adapt_and_rollout_show_anything(text, key, is_settled):
    """Keys of spaces, questions about them, names of environments."""
    change = Change(text, text, question=text).below(key)
    space = gym.spaces.Discrete(2)
    diff = SpaceDiff(space, space, (change,))
    suggestion = Suggestion(AdapterChain(), diff, diff)
    steps = {"obs-step": [text]}

    for written in (None, text):
        check(printed(adapt_page(suggestion, is_settled, written), next_command(text, steps)))
    check(printed(rollout_page(text, key, Played((1.0, -1.0), (3, 4)))))


@settings(max_examples=20, phases=[Phase.explicit, Phase.generate])
@given(TEXT, TEXT)
def test_export_shows_anything(text, piece):
    """Columns of the environment and pieces of the policy."""
    port = {"name": text, "shape": [2], "dtype": "float32"}
    manifest = {
        "kind": "onnx", "opset": 18, "size": 9, "tolerance": 1e-5, "pieces": [piece],
        "inputs": [port], "outputs": [port],
    }  # fmt: skip

    check(printed(*written_lines(Path("/tmp/x") / "a", manifest)))


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("kind", [k for k in KINDS if issubclass(k, errors.RlconnectError)])
@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(TEXT)
def test_errors_are_printable(kind, text):
    """Every error spells out what it was given; only its own line breaks are left."""
    error = kind(f"no {text}", expected=text, found=text, hint=text)

    assert len(str(error).splitlines()) <= 2
    check(str(error))


def test_markup_stays_text():
    """Rich's own markup in a name is shown as it is."""
    checkpoint = Checkpoint("/x", "policy", "old", "1.0", policies={MARKUP: PolicyRecord(MARKUP)})

    assert "[red]x[/red]" in printed(inspect_page(checkpoint, describe_checkpoint(checkpoint)))


@given(TEXT)
def test_html_is_text(text):
    """No tag and nothing that acts reaches a report."""
    shown = visible_html(text)

    assert "<" not in shown
    check(shown)


def test_lists_in_errors_keep_their_lines():
    """A list of weights is told line by line, a name with a line break in one."""
    assert visible_lines("they are:\n    a\n    b\nhint: c") == "they are:\n    a\n    b\\nhint: c"
