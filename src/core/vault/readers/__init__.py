"""Decoded files as records: a reader for each layout that Ray, or we, wrote."""
