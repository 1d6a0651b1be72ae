"""What runs within the boundary, besides `autograder.shared`."""
