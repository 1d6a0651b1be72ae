"""Checks of `ch11_efficiency`.

The checks see each tensor that attention in tiles makes, when it makes it, and once the system
itself has no room for a table of scores. The contract leaves three things open, so nothing here
checks them: what a backward pass makes; how often keys and values are copied on their way to the
heads of a group; the type of the pair that is a cache.
"""
