"""The text of a Python file, and edits of it that leave all other text as it is."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Final

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_LARGEST: Final = 1 << 21
_MARK: Final = "# rlconnect:"


class UnreadableSourceError(Exception):
    """A file that is not Python of today, or too large."""


class Source:
    """A file of Python.

    Args:
        data: Its bytes.

    Attributes:
        tree: Its syntax tree.

    Raises:
        UnreadableSourceError: It cannot be parsed.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) > _LARGEST:
            raise UnreadableSourceError(f"it is larger than {_LARGEST >> 20} MiB")
        try:
            self._encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
            text = data.decode(self._encoding)
            with warnings.catch_warnings():  # of escapes in strings, which are not ours to fix
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
            tokens = [*tokenize.generate_tokens(io.StringIO(text, newline="").readline)]
        except (UnicodeDecodeError, LookupError) as error:
            raise UnreadableSourceError(f"its encoding cannot be read: {error}") from None
        except (RecursionError, MemoryError):
            raise UnreadableSourceError("its expressions are nested too deeply") from None
        except (SyntaxError, ValueError, tokenize.TokenError) as error:
            raise UnreadableSourceError(str(error)) from None
        self._data = text.encode("utf-8")
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(self._data))]
        ends = (tokenize.NEWLINE, tokenize.NL)
        self._ends = sorted({token.start[0] for token in tokens if token.type in ends})
        self._marked = {
            token.start[0]
            for token in tokens
            if token.type == tokenize.COMMENT and _MARK in token.string
        }
        self._edits: dict[tuple[int, int], str] = {}
        self._marks: dict[int, list[str]] = {}

    def text(self, node: Any) -> str:
        """The text of a node."""
        return self._data[slice(*self._span(node))].decode("utf-8", "replace")

    def replace(self, node: Any, old: str, new: str, *, is_last: bool = False) -> bool:
        """Replace a text at the start of a node, or at its end; False if it is not there.

        Positions in f-strings of several lines are wrong before Python 3.12.
        """
        start, end = self._span(node)
        start = end - len(old.encode()) if is_last else start
        end = start + len(old.encode())
        if self._data[start:end] != old.encode():
            return False
        self._edits[start, end] = new
        return True

    def replace_statement(self, node: ast.stmt, lines: list[str]) -> None:
        """Replace a statement by others."""
        start, end = self._span(node)
        line = self._starts[node.lineno - 1]
        before = self._data[line:start].decode("utf-8", "replace")
        newline = _LINE_END.search(self._data)
        ending = newline[0].decode() if newline else "\n"
        self._edits[start, end] = ("; " if before.strip() else f"{ending}{before}").join(lines)

    def mark(self, line: int, why: str) -> None:
        """Note in a comment what is left to do in a line, or in what goes on below it."""
        at = bisect_left(self._ends, line)
        end = self._ends[at] if at < len(self._ends) else line
        if end in self._marked:
            return
        whys = self._marks.setdefault(end, [])
        if why not in whys:
            whys.append(why)

    def written(self) -> bytes:
        """Return the file with all edits."""
        parts, at = [], 0
        for first, last, new in self._blocks():
            parts += [self._text(at, first), new]
            at = last
        return "".join([*parts, self._text(at, len(self._starts))]).encode(self._encoding)

    def diff(self, name: str) -> str:
        """Return the changes as a unified diff without context.

        Args:
            name: The path to show.
        """
        lines, shift = [f"--- a/{name}", f"+++ b/{name}"], 0
        for first, last, new in self._blocks():
            old, now = self._text(first, last).splitlines(), new.splitlines()
            lines.append(f"@@ -{first + 1},{len(old)} +{first + 1 + shift},{len(now)} @@")
            lines += [*(f"-{line}" for line in old), *(f"+{line}" for line in now)]
            shift += len(now) - len(old)
        return "".join(f"{line}\n" for line in lines) if lines[2:] else ""

    def _span(self, node: Any) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, first: int, last: int) -> str:
        return self._data[self._begin(first) : self._begin(last)].decode()

    def _blocks(self) -> Iterator[tuple[int, int, str]]:
        """The lines that change: from where to where, counted from 0, and what they become."""
        edits = [(*span, new) for span, new in self._edits.items()]
        for line, whys in self._marks.items():
            text = self._text(line - 1, line)
            begin, bare = self._starts[line - 1], len(text.rstrip().encode())
            ending = begin + len(text.rstrip("\r\n").encode())
            edits.append((begin + bare, ending, f"  {_MARK} {'; '.join(whys)}"))
        parts: list[str] = []
        first = last = at = 0
        for start, end, new in sorted(edits):
            line = bisect_right(self._starts, start) - 1
            if line >= last:
                if parts:
                    yield (
                        first,
                        last,
                        "".join([*parts, self._data[at : self._begin(last)].decode()]),
                    )
                parts, first, at = [], line, self._starts[line]
            if start >= at:  # not inside of a statement that is replaced
                parts += [self._data[at:start].decode(), new]
                at, last = end, max(last, bisect_right(self._starts, end))
        if parts:
            yield first, last, "".join(parts) + self._up_to(last, at)

    def _up_to(self, line: int, start: int) -> str:
        return self._data[start : self._begin(line)].decode()

    def _begin(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self._data)
