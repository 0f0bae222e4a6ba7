"""A policy as the teacher of another network: what it would do at each step becomes a loss."""
