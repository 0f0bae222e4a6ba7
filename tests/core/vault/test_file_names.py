"""Names of files and keys that Ray chose stand in one table."""

import ast
from pathlib import Path

import rlconnect
from rlconnect.core.vault import file_names

SRC = Path(rlconnect.__file__).parent
TABLE = Path(file_names.__file__)
NAMES = {
    *file_names.JSON_FILES,
    *(
        name + ending
        for name in file_names.STATES
        if "_" in name
        for ending in ("", *file_names.ENCODINGS)
    ),
    file_names.CALL_KEY,
    file_names.CLASS_FILE,
    file_names.CLASS_KEY,
    file_names.INNER_STATE,
    file_names.PICKLED_SETTINGS,
    file_names.PLAIN_SETTINGS,
    file_names.RESULT_TABLE,
    file_names.RESULTS,
    file_names.TUNE_NOTE,
}
# Another program's `metadata.json`, and what recorded outputs are not.
OTHERS = {"offline/readers/minari_reader.py", "core/vault/recorded_outputs.py"}


def test_no_other_module_spells_a_name_of_rays():
    """A release that renames a file is a row of the table and nothing else."""
    sources = {path: path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}

    spelt = [
        f"{path.relative_to(SRC).as_posix()}:{node.lineno} {node.value!r}"
        for path, source in sources.items()
        if path != TABLE and path.relative_to(SRC).as_posix() not in OTHERS
        if any(name in source for name in NAMES)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES
    ]

    assert not spelt
