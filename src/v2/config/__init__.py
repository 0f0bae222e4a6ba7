"""The settings of an algorithm."""
