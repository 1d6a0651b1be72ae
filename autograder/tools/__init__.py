"""Commands beside grading: a learner's own copies, the demo, the bench."""
