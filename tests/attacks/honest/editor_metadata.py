"""Was edited in Colab and VS Code, which leave metadata, ids and attachments of their own
everywhere.
"""


def hand_in(notebook):
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] |= {
            "id": f"aB{number}",
            "colab": {"base_uri": "https://x"},
            "vscode": {"languageId": "python"},
            "outputId": "x",
            "tags": ["todo"],
        }
        cell["id"] = "duplicate"
    notebook["cells"].insert(
        0,
        {
            "cell_type": "markdown",
            "source": "<h1 onclick='x()'>mine</h1> ![a](attachment:a.png)",
            "metadata": {},
            "attachments": {"a.png": {"image/png": "iVBORw0KGgo="}},
        },
    )
    notebook["metadata"] |= {
        "colab": {"provenance": [{"file_id": "x", "timestamp": 1}]},
        "accelerator": "GPU",
        "widgets": {"state": {}},
    }
    notebook["metadata"]["kernelspec"] = {
        "display_name": "conda env",
        "name": "conda-env-ml-py",
        "language": "python",
    }
    return notebook
