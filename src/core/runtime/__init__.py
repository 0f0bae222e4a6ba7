"""Helpers while a policy acts: threads, sessions, caches, random draws."""
