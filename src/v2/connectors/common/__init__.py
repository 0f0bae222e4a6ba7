"""Pieces that more than one kind of pipeline holds."""
