"""Exported programs as files: found, read, checked, written; `compiled/artifact` makes them."""
