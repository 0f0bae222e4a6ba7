"""Names that are fetched on first use, and what is said where torch is missing."""
