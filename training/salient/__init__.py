"""Salient's training side: the same names as the C++ engine, in PyTorch.

Reading order follows the data: config, data, model (with selection and depth), train, export, evaluate.
"""
