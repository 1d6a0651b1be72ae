"""The experiments of the book, each short and importable."""
