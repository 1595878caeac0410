"""From a Python function to HIR: its source, the names in it, and what is refused."""
