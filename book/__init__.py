"""The book: chapters in MyST, their figures and their explorers."""
