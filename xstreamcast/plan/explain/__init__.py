"""What ``explain`` says: the verdict, the operators, the passes, what a change costs."""
