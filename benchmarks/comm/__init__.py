"""Messages, halos, stencils and solvers over ranks."""
