"""The common state of the sections of a report: the engine, the sets, the sizes of a quick or a full run, the paths."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from ..config import ModelConfig
from ..vocabulary import Vocabulary
from . import sets
from .engine import Engine
from .score import Scorer
from .sets import Document, DocumentSet
from .settings import Setting


@dataclass(frozen=True)
class Sizes:
    """How many documents are translated (0: all), and how finely settings are swept."""

    words: str = "every set whole"
    fine: bool = True
    dev_segments: int = 0
    test_segments: int = 0
    test_documents: int = 0
    long_documents: int = 0
    traced_segments: int = 1200
    inside_segments: int = 1500  # for the PyTorch model
    free_segments: int = 0  # decoded without constraints
    alone_documents: int = 12  # for times
    takes: int = 3


QUICK = Sizes("a sample of every set (`--quick`)", False, 1800, 250, 0, 6, 400, 300, 700, 5, 5)


def some_documents(count: int) -> Sizes:
    """The whole development set, and so many documents of every other set."""
    return Sizes(f"the development set whole, at most {count} documents of the other sets", fine=False,
                 test_documents=count, long_documents=count)


@dataclass
class Section:
    title: str
    body: str


class Run:
    def __init__(self, engine: Engine, model: Path, data: Path, out: Path, sizes: Sizes):
        self.engine, self.model, self.out, self.sizes = engine, model, out, sizes
        self.config = ModelConfig.load(model)
        pair = f"{self.config.source_language}-{self.config.target_language}"
        self.paths = sets.find_sets(data, pair) if data.is_dir() else {sets.set_name(data): data}
        self.signatures: list[str] = []

    @property
    def heads(self) -> list[str]:
        return self.config.exits.heads if self.config.exits is not None else []

    @property
    def leaves_early(self) -> bool:
        """Whether tokens can leave before the last layer; those of a converted model cannot."""
        return self.config.exits is not None and self.layers > 1

    def takes(self, setting: Setting) -> bool:
        """Whether the engine takes the setting for this model."""
        policy = setting.exit.split(":")[0]
        exits = policy == "full" or self.leaves_early and policy in ("fixed", "confidence", *self.heads)
        return exits and (self.config.selection is not None or setting.selection.split(":")[0] in ("dense", "window"))

    @property
    def layers(self) -> int:
        return self.config.decoder.layers

    @property
    def sparse(self) -> str:
        """The selection with which the model should be used."""
        return "learned" if self.config.selection is not None else "dense"

    @property
    def usual(self) -> Setting:
        return Setting(self.sparse, "geometric:0.5" if "geometric" in self.heads else "full")

    def read(self, name: str, segments: int, documents: int = 0) -> DocumentSet:
        return sets.sample(sets.read_set(self.paths[name]), segments, documents)

    @functools.cached_property
    def dev(self) -> DocumentSet:
        return self.read("dev", self.sizes.dev_segments)

    @functools.cached_property
    def scorer(self) -> Scorer:
        """The scorer of the development set."""
        return Scorer(self.dev.documents)

    @functools.cached_property
    def pytorch(self):
        from ..export import load_model

        return load_model(self.model)[0]

    def chunked(self, documents: list[Document]):
        """Chunks for the PyTorch model, with the model's own tokens."""
        from .tokens import chunks

        return chunks(documents, Vocabulary(self.model, self.config), self.config.chunk_tokens)

    def chunks(self, segments: int):
        """Chunks of development documents."""
        return self.chunked(self.read("dev", segments).documents)

    def read_by_pytorch(self, documents: list[Document], learned: bool = False):
        from ..teacher_forcing import force

        return [force(self.pytorch, c.source, c.target, learned, c.given) for c in self.chunked(documents)]

    @functools.cached_property
    def forced(self):
        return self.read_by_pytorch(self.read("dev", self.sizes.inside_segments).documents)

    @functools.cached_property
    def forced_for_tuning(self):
        """Chunks of the development documents that settings are tuned on. Translations at full depth replace the
        references, because in decoding a model reads its own output."""
        documents = [self.dev.documents[i] for i in sets.halves(self.dev.documents)[0]]
        part = sets.sample(DocumentSet("dev, tuning", documents), self.sizes.inside_segments)
        own = [Document(t.document.source, t.document.lines, [t.lines])
               for t in self.engine.translate(part, Setting(self.sparse)).translated]
        return self.read_by_pytorch(own, self.sparse == "learned")

    def figure(self, name: str) -> Path:
        return self.out / "figures" / f"{name}.svg"

    def link(self, path: Path, title: str) -> str:
        return f"![{title}]({path.relative_to(self.out)})"
