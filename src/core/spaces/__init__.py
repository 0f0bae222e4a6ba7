"""Spaces: walk, describe, compare, check, draw from, read and write."""
