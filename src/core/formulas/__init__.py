"""Formulas of both stacks: actions, filters, encoders, distributions."""
