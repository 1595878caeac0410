"""The library beside C++'s: hash tables and std algorithms."""
