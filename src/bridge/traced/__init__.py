"""Functions written for one item, recorded as formulas over batches of numpy or torch."""
