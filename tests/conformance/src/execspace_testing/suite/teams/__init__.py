"""Level: leagues of teams of threads with lanes."""
