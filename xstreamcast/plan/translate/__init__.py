"""XCQL to standard XQuery on the fragments (SIGMOD'04 §6)."""
