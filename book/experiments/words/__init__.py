"""Chapter 1: what words learn from the company that they keep."""
