"""HTML pages that need nothing else, and the charts on them."""
