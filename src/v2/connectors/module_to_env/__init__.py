"""Pieces from a module's outputs to an environment's actions."""
