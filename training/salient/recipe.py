"""The default flags of every training phase: the recipe of the bundled model.

`salient.train --phase X` takes these as its defaults, so that run_gpu.sh, retrofit and the ablations name only what
they do differently.
"""

from __future__ import annotations

# Long chunks, in which most keys can be left out.
LONG = {0: 0.1, 96: 0.1, 192: 0.2, 384: 0.25, 768: 0.25, 1536: 0.1}

# How often a pass contains a source's documents: machine-translated German less often; literature, which is rare, more
# often. Other sources count once, so that this table has no effect on other data.
SOURCES = {"mdn": 0.7, "bilara": 0.5, "gutenberg": 3.0, "bilinguator": 3.0}

# How early exits are trained: half from the last exit, and in some batches with tokens that exit early.
EXITS = {"distil": 0.5, "hand_up": 0.3}

RECIPE: dict[str, dict] = {
    "base": {"cooldown": 0.6, **EXITS},
    "supervision": {"lr": 0.002, "matrix_lr": 0.02, "warmup": 5, "cooldown": 0.6, "alpha": 1.0, "k_step": 0.0},
    "selection": {"lr": 0.0003, "matrix_lr": 0.004, "warmup": 5, "cooldown": 0.8, "average": 0.15, "mixture": LONG,
                  "alpha": 1.0, "straight_through": False, "k_step": 0.01, "captured": 0.96,
                  "k_most": {"encoder": 0.07, "decoder": 0.03, "cross": 0.045}, "k_most_share": 0.25, **EXITS},
    "exits": {"lr": 0.001, "warmup": 20},
    "depth": {"lr": 0.0007, "matrix_lr": 0.007, "warmup": 10, "cooldown": 0.9, "average": 0.15, "mixture": LONG,
              "alpha": 0.0, "straight_through": False, "halting_weight": 1.5, "mistakes": 0.08, "distil": 0.5,
              "hand_up": 0.25, "oracle": "agreement", "penalty": 0.1, "sigma": 0.0},
    "halting": {"lr": 0.01, "warmup": 5, "oracle": "likelihood", "penalty": 0.05, "sigma": 0.5},
}
