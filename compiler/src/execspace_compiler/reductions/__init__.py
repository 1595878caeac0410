"""Reductions: states, joins, partial results, results."""
