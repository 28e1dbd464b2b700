"""The answer as a stream of changes, and on a terminal."""
