"""Commands of their own, for one question each."""
