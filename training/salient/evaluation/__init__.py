"""Measuring a model: quality against cost on held-out documents, with the engine as the decoder.

In the order in which data flow: sets -> settings -> engine -> score, cost -> depth, pareto -> tables, figures
-> sections, inside -> report. What the engine does not tell (states, likelihoods of references) comes from the PyTorch
model: tokens -> ../teacher_forcing, ../thresholds, similarity, segments. `salient.evaluate` is the command.
"""
