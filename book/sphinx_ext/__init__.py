"""What the book adds to Sphinx."""
