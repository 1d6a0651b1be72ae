"""Hands in a notebook that breaks off in the middle."""


def hand_in(notebook):
    return '{"cells": [{"cell_type": "code", "source": "'
