"""The reference implementations: one module a chapter, each also the source of that chapter's
notebook.
"""
