"""The old stack's batches: columns with equally many rows, for one policy and for several."""
