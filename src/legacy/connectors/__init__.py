"""The old stack's connectors: the base, the pipelines, what agents see, what policies answer."""
