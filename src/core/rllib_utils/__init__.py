"""The helpers of RLlib's `utils` that users' code imports, under RLlib's names."""
