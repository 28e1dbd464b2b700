"""What streams bring: read, shared by all queries that look at it, parsed once."""
