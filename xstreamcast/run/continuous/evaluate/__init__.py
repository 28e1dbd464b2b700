"""What one member, or many fragments at once, give; and what is certain while holes are open."""
