"""The papers' ablations, as short runs of equal length. Prints a table, and puts it into a page of all suites (--page).

    python -m salient.ablations selection --data work/data --start work/base.pt --out work/ablations
    python -m salient.ablations paper     --data work/data --start work/base.pt --out work/ablations --steps 300 \\
        --bin ../build/release/bin --test dev-long.tsv
    python -m salient.ablations exits     --data work/data --start work/base.pt --out work/ablations --minutes 20 \\
        --bin ../build/release/bin --test dev.tsv
    python -m salient.ablations ffn       --data work/data --config work/config.json --out work/ablations
    python -m salient.ablations converted --data work/data --config work/config.json --out work/ablations \\
        --start work/base.pt
    python -m salient.ablations plain     --data work/data --config work/config.json --out work/ablations \\
        --minutes 30 --bin ../build/release/bin --test dev.tsv

**selection** adapts one trained dense model in several ways, each with new selection layers, a supervision phase and a
selection phase of a few dozen steps, and the same budget of keys. The runs differ in the width of the selection layers
(ds), the number of layers that share one (r), the supervision, the straight-through term, or in a fixed window instead
of the best keys (table 4 and figures 4 to 6 of arXiv 2309.14174).

**paper** does the same as that paper writes it: no phase of supervision before, no budget, alpha of 0.01, the
straight-through term, and k moves by eq. 7 until it settles. The runs differ in the share of the attention that the
kept keys must hold (t), in ds, in r and in dropout, and one follows our own recipe in as many steps. The engine
translates the long documents of --test with each model, dense and with its selection.

**exits** trains the exits of one model by eq. 4 and eq. 5 of arXiv 1910.10073 and by our recipe, and then, on the model
of eq. 4, all halting heads by every oracle. The engine translates --test at every fixed exit, and with every head and
oracle at several thresholds (tables 1 and 2 and figures 3 to 5).

**ffn** trains every configuration of arXiv 2309.01826 from scratch, and the first one with a second seed. With --test
the table has the similarity of each model to the first one, normalised by that of the two seeds (table 5). Short runs
from scratch say little.

**converted** converts a trained model to each configuration and trains it on, which favours configurations close to the
start. With --bin it and **ffn** translate documents of --test, as below, and the table shows the gain in speed and the
loss in quality of each.

**plain** compares the model with a Transformer of Vaswani et al., with sinusoidal positions and one output. The data,
its chunks, the batches, the optimiser and its schedule are the same. With --bin the engine translates documents of
--test with both, dense and at full depth, in chunks of the same size.

Runs have an equal number of steps, so that other work on the machine has no influence; or with --minutes equal time, on
a CPU processor time for the same reason. Finished runs are not repeated. Every run but those of selection exports a
model. The page keeps the sections of other suites. Text in notes/ablations-SUITE.md beside it is added to that suite's
section.
"""
