"""Experiments on copying sentences, with one vector and with attention."""
