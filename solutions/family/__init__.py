"""Models of chapter 13, and other people's weights in them."""
