"""Runs of built-in pieces as one columnar step."""
