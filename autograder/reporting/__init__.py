"""What people read of a grading: pages, tables, flags."""
