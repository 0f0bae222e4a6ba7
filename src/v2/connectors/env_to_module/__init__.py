"""Pieces from an environment's episodes to a module's forward batch."""
