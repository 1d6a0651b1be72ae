"""Has markup, quotes and a template's braces in the name of the learner's folder."""

LEARNER = "<img src=x onerror=alert(1)>\"'{{ 7 * 7 }}"
