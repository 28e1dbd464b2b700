"""Differences, folded into sums, sorts, groups, look-ups and positions: each in O(log n)."""
