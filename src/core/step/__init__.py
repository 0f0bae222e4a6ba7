"""A policy's step as data: formulas over batched values, what is remembered, one way to run it."""
