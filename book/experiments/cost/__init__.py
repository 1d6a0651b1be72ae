"""The experiments of chapter 10: what a step of training costs by arithmetic and as measured, two
workers, compilation, and what the chapter predicts for a GPU.
"""
