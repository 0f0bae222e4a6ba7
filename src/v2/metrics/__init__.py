"""Metrics: what happened, under nested keys, reduced when somebody asks."""
