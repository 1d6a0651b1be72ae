"""A learner's own functions, as code that can be imported."""
