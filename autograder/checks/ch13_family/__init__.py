"""Checks of `ch13_family`."""
