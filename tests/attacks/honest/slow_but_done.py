"""Trains for a second and a half in a cell of its own, and asks for input that nobody gives."""

# %%
import time

time.sleep(1.2)

# %%
name = input("your name? ")
