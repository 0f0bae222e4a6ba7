"""Environments: registered, vectorised, of one agent or many."""
