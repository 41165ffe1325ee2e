"""Salient's training code in PyTorch, with the names of the C++ engine.

Reading order follows the data: config, data, model (with selection and depth), train, export, evaluate.
"""
