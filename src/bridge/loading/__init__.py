"""Loads live policies from a path: of the old stack, of the new one, or exported."""
