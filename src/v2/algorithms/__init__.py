"""The algorithms: their settings, losses and training loops."""
