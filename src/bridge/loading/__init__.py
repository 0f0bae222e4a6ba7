"""From what lies at a path to live policies: of the old stack, of the new one, or exported."""
