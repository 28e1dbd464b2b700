"""The shape of an answer: which elements it has, and the tag structure it travels with."""
