"""What an ordinary unpickler would call: told, never called.

`kinds` says what kind of thing a name is, `calls` what the trace of a pickle amounts to, `files`
goes through everything that lies at a path.
"""
