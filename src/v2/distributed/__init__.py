"""Env runners in processes of Ray, with Ray Core alone: no RLlib is imported."""
