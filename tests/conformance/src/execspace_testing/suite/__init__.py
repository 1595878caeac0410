"""The tests of the kit, a folder for each level; see `execspace_testing.levels`."""
