"""Experiments on the little translators of chapter 8, which train in seconds."""
