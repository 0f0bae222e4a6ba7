"""What both stacks stand on: errors, spaces, arrays, formulas, and the vault that reads files."""
