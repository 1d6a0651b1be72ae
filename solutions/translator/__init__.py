"""The translator at the end of the course: its corpus, its text and tokens, its training, and what
it writes.
"""
