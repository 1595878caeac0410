"""What reducers join, and how: states, joins, partial results, results."""
