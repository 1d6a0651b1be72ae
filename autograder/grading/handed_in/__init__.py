"""What learners handed in: found, told whose it is and of which chapter, and read without trust."""
