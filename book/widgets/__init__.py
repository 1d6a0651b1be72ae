"""What drives an explorer from a learner's notebook."""
