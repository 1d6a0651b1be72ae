"""From what was handed in to a record in the gradebook."""
