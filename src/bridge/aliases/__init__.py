"""Modules under the names of ray, so that old user code imports without Ray."""
