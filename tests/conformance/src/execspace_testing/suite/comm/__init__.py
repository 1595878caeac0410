"""Level 14: messages, fields over ranks and what is built on them, on one rank or on many."""
