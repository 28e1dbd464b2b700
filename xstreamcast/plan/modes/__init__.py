"""Emission modes as rewritings of the query."""
