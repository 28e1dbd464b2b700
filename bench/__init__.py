"""Benchmarks: ratios against other tools in the same run, with their versions. ``make bench`` runs them all."""
