"""Experiments on what has changed since 2017, with the tiny GPT of chapter 13."""
