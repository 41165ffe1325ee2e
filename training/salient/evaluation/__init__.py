"""Measures a model: quality and cost on held-out documents, with the engine as the decoder.

In the order of the data flow: sets -> settings -> engine -> score, cost -> depth, pareto -> tables, figures
-> sections, inside -> report. The PyTorch model provides what the engine does not report (states, likelihoods of
references): tokens -> ../teacher_forcing, ../thresholds, similarity, segments. `salient.evaluate` is the command.
"""
