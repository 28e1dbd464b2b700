"""Which parts of its documents an expression can see."""
