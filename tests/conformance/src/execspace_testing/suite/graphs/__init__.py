"""Level: graphs of launches and copies."""
