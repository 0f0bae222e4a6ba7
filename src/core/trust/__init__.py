"""One door for names: what a file may name, and who says so.

A file says "a class called this stands here". Each such place is a `Slot`: its kind in words, a
static table of what rlconnect itself has for it, and what anything there must be. The caller
widens a slot by registering a class, or by passing it (`Trust`); what this process happens to have
imported counts for nothing. `resolve` gives the object, or the error that says what to pass.
"""

from .names import Names, Slot, by_path, find, resolve, together
from .words import NOTHING, Trust, Words, trust

__all__ = [
    "NOTHING",
    "Names",
    "Slot",
    "Trust",
    "Words",
    "by_path",
    "find",
    "resolve",
    "together",
    "trust",
]
