"""Bytes of a checkpoint: files, archives and URLs, sizes first, links of caches alone."""
