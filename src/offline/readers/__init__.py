"""One reader a kind of recorded data: `places` finds files, `tables`, `json_lines` open them."""
