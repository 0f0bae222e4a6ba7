"""Checkpoints to try things with, as RLlib wrote them; `rlconnect sample` copies one out."""
