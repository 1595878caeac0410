"""What execution spaces on host memory have in common."""
