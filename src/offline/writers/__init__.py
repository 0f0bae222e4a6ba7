"""Recorded data written: one writer a kind, file by file, each whole or not at all."""
