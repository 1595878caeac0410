"""Sorting, searching, histograms and random numbers; loaded on first use."""
