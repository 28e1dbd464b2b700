"""Stage 1 of a query: the units that one scan computes each, and what is left to do with their values."""
