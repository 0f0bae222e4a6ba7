"""Pieces from sampled episodes to a train batch."""
