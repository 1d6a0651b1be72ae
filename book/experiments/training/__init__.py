"""The experiments of chapter 9: the page's own loop, run again; bugs planted in it; the larger
translator; and what came of averaging checkpoints.
"""
