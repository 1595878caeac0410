"""Level: independent queues."""
