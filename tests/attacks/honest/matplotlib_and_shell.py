"""Plots inline, runs shell commands and magics, and times itself."""

# %%
# %matplotlib inline
import matplotlib.pyplot as plt

plt.plot([1, 2, 3])
plt.title("scores")
plt.show()

# %%
# !ls -la
# !echo done
# %timeit -n 1 -r 1 sum(range(1000))
# %load_ext autoreload
# %autoreload 2
# %time np.ones(3)
