"""Runners step environments with a module and give episodes."""
