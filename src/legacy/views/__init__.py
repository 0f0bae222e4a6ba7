"""Which columns a policy looks at, how far back, and how they are collected."""
