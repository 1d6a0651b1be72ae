"""Changes settings that a notebook may change: print options, error states, the random seed, the
recursion limit, the folder.
"""

# %%
import locale
import os
import random
import sys

np.set_printoptions(precision=2, suppress=True)
np.seterr(all="raise")
np.random.seed(0)
random.seed(0)
sys.setrecursionlimit(5_000)
os.chdir("/tmp")
os.environ["PYTHONHASHSEED"] = "1"
sys.stdout.write("hello\n")
# %xmode Verbose
# %precision 3
