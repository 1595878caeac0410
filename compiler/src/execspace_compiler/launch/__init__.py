"""Between a compiled kernel and its launch: device text, arguments, failures, descriptions."""
