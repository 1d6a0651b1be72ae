"""Has changed and duplicated the check cells while trying things out."""


def hand_in(notebook):
    for cell in list(notebook["cells"]):
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            cell["source"] = f"# {''.join(cell['source'])}\nassert False"
            notebook["cells"].append({**cell, "id": "again"})
    return notebook
