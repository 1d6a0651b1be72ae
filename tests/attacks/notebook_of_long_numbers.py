"""Hands in numbers of a million digits where a notebook has its format and its counts."""


def hand_in(notebook):
    return '{"cells": [], "nbformat": ' + "9" * 1_000_000 + ', "nbformat_minor": 1e999999}'
