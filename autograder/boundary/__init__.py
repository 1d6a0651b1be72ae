"""The boundary around learners' code, seen from outside."""
