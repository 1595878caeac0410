"""Graphs: launches and copies that are recorded once and replayed at the price of few."""
