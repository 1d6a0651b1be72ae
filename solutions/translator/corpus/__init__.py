"""The course's own English-Italian corpus."""
