"""Events: what core, plans and devices say of what runs; `execspace.profiling` has who listens."""
