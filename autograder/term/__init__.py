"""The instructor's term: what is kept in tables beside a class's results, and what follows."""
