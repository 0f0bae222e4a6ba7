"""Configs: what a user says, checked at once, and what is built from it."""
