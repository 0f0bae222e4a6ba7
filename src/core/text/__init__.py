"""Text of strangers and for people: made visible, quoted, corrected."""
