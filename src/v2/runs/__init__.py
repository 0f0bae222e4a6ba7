"""Training runs in a folder: they stop at a criterion and resume from their newest checkpoint."""
