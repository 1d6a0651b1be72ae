"""Prints a hundred thousand lines and one of ten megabytes."""

# %%
for number in range(100_000):
    print("step", number)
print("x" * 10_000_000)
