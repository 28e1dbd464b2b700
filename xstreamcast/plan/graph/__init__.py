"""The stream data-flow graph of a query, its fusion, and the single-pass verdict (VLDB'05 §4)."""
