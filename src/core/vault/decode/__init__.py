"""From the bytes of strangers to plain data: pickle, msgpack and torch files, none of which runs.

Read `pickle_machine` first, then `constructors`: what may become a value, and how.
"""
