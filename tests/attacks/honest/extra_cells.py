"""Has added notes, experiments that fail, unfinished code and empty cells."""


def hand_in(notebook):
    for source in (
        "def unfinished(:",
        "",
        "   ",
        "# only a remark",
        "?np.exp",
        "for i in range(3):",
    ):
        notebook["cells"].insert(
            3,
            {
                "cell_type": "code",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            },
        )
    return notebook


# %%
1 / 0

# %%
undefined_name

# %%
raise AssertionError("an experiment")
