"""What a learner's process and the grader both hold: how answers travel, are observed and judged.
It imports nothing outside itself.
"""
