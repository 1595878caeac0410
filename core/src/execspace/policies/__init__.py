"""Policies of launches, and tables of tiles by their names."""
