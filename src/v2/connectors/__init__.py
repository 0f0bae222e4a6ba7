"""The pieces between environment, module and learner, and the pipelines they make."""
