"""What a request chooses, as one value: the flags of `salient translate` and the controls of operating_points.json."""

from __future__ import annotations

from dataclasses import dataclass

DENSE_GREEDY = "dense"


@dataclass(frozen=True)
class Setting:
    selection: str = DENSE_GREEDY  # the value of --selection
    exit: str = "full"  # the value of --exit
    beam: int = 1
    min_exit: int | None = None
    min_keys: int | None = None

    @property
    def flags(self) -> str:
        words = ["--selection", self.selection, "--exit", self.exit]
        for name, value, default in (("--beam", self.beam, 1), ("--min-exit", self.min_exit, None),
                                     ("--min-keys", self.min_keys, None)):
            if value != default:
                words += [name, str(value)]
        return " ".join(words)

    @property
    def name(self) -> str:
        parts = [self.selection, "" if self.exit == "full" else self.exit]
        parts.append(f"from layer {self.min_exit}" if self.min_exit else "")
        parts.append(f"beam {self.beam}" if self.beam > 1 else "")
        return ", ".join(part for part in parts if part)

    def controls(self) -> dict:
        """`selection`, `depth` and `search` as the engine reads them from operating_points.json."""
        selection, depth = split_policy(self.selection), split_policy(self.exit)
        controls = {"selection": {"policy": selection[0]}, "depth": {"policy": depth[0]}}
        if len(selection[1]) == 3:
            controls["selection"].update(zip(("encoder_value", "decoder_value", "cross_value"), selection[1]))
        elif selection[1]:
            controls["selection"]["value"] = selection[1][0]
        if depth[0] == "fixed":
            controls["depth"]["fixed_exit"] = int(depth[1][0])
        elif depth[0] == "verify":
            controls["depth"].update(zip(("draft_exit", "draft_tokens"), map(int, depth[1])))
        elif depth[1]:
            controls["depth"]["thresholds"] = depth[1]
        if self.min_exit:
            controls["depth"]["min_exit"] = self.min_exit
        if self.min_keys is not None:
            controls["selection"]["min_keys"] = self.min_keys
        if self.beam > 1:
            controls["search"] = {"beam": self.beam}
        return controls


def split_policy(text: str) -> tuple[str, list[float]]:
    """`policy:value,value` -> (policy, values)."""
    policy, _, values = text.partition(":")
    return policy, [float(v) for v in values.split(",")] if values else []


def selection_settings(has_selection: bool) -> list[Setting]:
    """The rows of the selection table. A model without selection layers has only dense and window."""
    trained = ["learned", "ratio:0.02", "ratio:0.05", "ratio:0.1", "ratio:0.2", "mass:0.9", "mass:0.95", "mass:0.99"]
    return [Setting(s) for s in ["dense", *(trained if has_selection else []), "window:20"]]


def depth_settings(selection: str, layers: int, heads: list[str], fine: bool) -> dict[str, list[Setting]]:
    """Every exit policy with its sweep: over thresholds, or over the least exit if the policy has no thresholds."""
    taus = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9) if fine else (0.3, 0.4, 0.5, 0.6, 0.7)
    levels = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98) if fine else (0.4, 0.6, 0.75, 0.9)
    least = [None, *range(2, layers)]
    sweeps = {"fixed": [Setting(selection, f"fixed:{n}") for n in range(1, layers)] + [Setting(selection)]}
    if "geometric" in heads:
        sweeps["geometric"] = [Setting(selection, f"geometric:{t}") for t in taus]
    sweeps["confidence"] = [Setting(selection, f"confidence:{t}") for t in levels]
    for head in ("multinomial", "sequence"):
        if head in heads:
            sweeps[head] = [Setting(selection, head, min_exit=n) for n in least]
    return sweeps


def pareto_settings(has_selection: bool, layers: int, heads: list[str], fine: bool) -> list[Setting]:
    """The grid that operating points are chosen from. Beams are combined with full depth, and once with an early
    exit."""
    selections = ["dense", *(["learned", "mass:0.9"] if has_selection else []), "window:20"]
    if fine:
        selections += ["window:32", *(["ratio:0.1", "mass:0.95"] if has_selection else [])]
    exits = ["full", f"fixed:{max(1, layers // 2)}"]
    exits += [f"geometric:{t}" for t in ((0.4, 0.5, 0.6, 0.7) if fine else (0.5, 0.6))] if "geometric" in heads else []
    exits += ["confidence:0.75", "confidence:0.9"] if fine else []
    cheap = [s for s in selections if s != "dense"]
    grid = [Setting(s, e) for s in selections for e in exits if s != "dense" or e == "full"]
    grid += [Setting("dense", beam=b) for b in (2, 4)]
    grid += [Setting(s, e, b) for s in cheap for e in ("full", exits[-1]) for b in (2, 4)
             if s == "window:20" or e == "full"]
    return list(dict.fromkeys(grid))
