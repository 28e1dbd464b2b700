"""Joins, grouping and sorting of stored documents as Spark's own operators."""
