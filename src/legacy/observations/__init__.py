"""The old stack's filters and preprocessors, by their names."""
