"""The experiments of chapter 9: the page's own loop, run again; bugs planted in it; what its parts
buy; a small text; and the larger translator. Of chapter 10: two workers, and compilation.
"""
