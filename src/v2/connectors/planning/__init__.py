"""Runs of built-in pieces as one columnar step: the plan, and a room for each way of the data."""
