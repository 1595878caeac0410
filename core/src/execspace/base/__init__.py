"""What every floor uses: errors, settings, read-only classes, files, and ports to upper floors."""
