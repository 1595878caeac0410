"""What a kernel does, read from its IR: accesses, overlap, effects, work. Nothing is changed."""
