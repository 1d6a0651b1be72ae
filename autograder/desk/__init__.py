"""What an instructor asks for during a term: commands that read what was graded."""
