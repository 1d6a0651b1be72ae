"""Chapter 13's experiments: four models, and what has changed since."""
