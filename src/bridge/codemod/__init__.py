"""Rewrite the imports of a source tree from Ray to rlconnect."""
