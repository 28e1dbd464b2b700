"""The clock, how long what was evaluated stays true, and what is let go of."""
