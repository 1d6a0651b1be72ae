"""What a trained translator is worth, and what it cost."""
