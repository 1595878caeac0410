"""What a backend's author reads: spaces, plans, memory, and the records of the plugin contract."""
