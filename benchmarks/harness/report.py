"""The results of a run: the timings of each case, and their ratios."""

from __future__ import annotations

from dataclasses import dataclass

from .measure import Timing, best
from .processors import MAP, Outcome
from .variants import CTRANSLATE2, OURS, PYTORCH, SALIENT


@dataclass
class Row:
    """The outcome of a case. A ratio is CTranslate2's median over ours: above 1 we are faster."""

    name: str
    about: str
    outputs: list[int]
    timings: list[Timing]
    clock: str = "seconds"
    goals: tuple[float, float] | None = None

    def runs(self) -> int:
        """The least number of runs among the variants that have a ratio."""
        return min(len(t.seconds) for t in (self.rival(True), *map(self.ours, OURS)) if t)

    def of(self, family: str, exact: bool | None = None) -> list[Timing]:
        return [t for t in self.timings if t.variant.family == family and (exact is None or t.variant.exact == exact)]

    def rival(self, exact: bool) -> Timing | None:
        found = self.of(CTRANSLATE2, exact)
        return best(found, self.clock) if found else None

    def ours(self, name: str) -> Timing | None:
        return next((t for t in self.of(SALIENT) if t.variant.name == name), None)

    def ratio(self, name: str, exact: bool = True) -> float | None:
        rival, ours = self.rival(exact), self.ours(name)
        return rival.median(self.clock) / ours.median(self.clock) if rival and ours else None

    def to_json(self) -> dict:
        return {"case": self.name, "about": self.about, "outputs": self.outputs, "clock": self.clock,
                "goals": self.goals, "timings": [t.to_json() for t in self.timings],
                "ratios": {t.variant.name: {"exact": self.ratio(t.variant.name),
                                            "vocabulary map": self.ratio(t.variant.name, False)}
                           for t in self.of(SALIENT)}}

    @staticmethod
    def from_json(told: dict) -> "Row":
        return Row(told["case"], told["about"], told["outputs"], [Timing.from_json(t) for t in told["timings"]],
                   told["clock"], told["goals"])

    def outcome(self) -> Outcome:
        """What the page keeps: medians, and their ratios."""
        rival, pytorch = self.rival(True), self.of(PYTORCH)
        told = {CTRANSLATE2: rival, MAP: self.rival(False), PYTORCH: pytorch[0] if pytorch else None,
                **{t.variant.name: t for t in self.of(SALIENT)}}
        sparse = self.ours("selection and exits")
        return Outcome(
            self.name, self.about, self.outputs, self.runs(), rival.variant.name if rival else "",
            {name: float(f"{t.median(self.clock):.4g}") for name, t in told.items() if t},
            {t.variant.name: round(ratio, 3) for t in self.of(SALIENT)
             if (ratio := self.ratio(t.variant.name, t.variant.exact)) is not None},
            list(self.goals) if self.goals else None, sparse.to_json().get("mean_exit") if sparse else None)
