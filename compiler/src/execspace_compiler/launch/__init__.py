"""From a compiled kernel to its launch: device source, arguments, failures, descriptions."""
