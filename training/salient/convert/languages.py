"""Languages of other toolkits' models: their codes, and the tokens that choose one."""

from __future__ import annotations

import re

from ..config import Languages

# Codes of three letters, of NLLB and of OPUS-MT, and their languages' codes of two. Requests use the latter.
SHORT = dict(pair.split(":") for pair in (
    "afr:af aka:ak als:sq amh:am ara:ar arb:ar asm:as ayr:ay aze:az azj:az bak:ba bam:bm bel:be ben:bn bod:bo bos:bs "
    "bre:br bul:bg cat:ca ces:cs cmn:zh cym:cy dan:da deu:de dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo "
    "fas:fa fij:fj fin:fi fra:fr fry:fy fuv:ff gaz:om gla:gd gle:ga glg:gl grn:gn guj:gu hat:ht hau:ha heb:he hin:hi "
    "hrv:hr hun:hu hye:hy ibo:ig ind:id isl:is ita:it jav:jv jpn:ja kan:kn kas:ks kat:ka kaz:kk khk:mn khm:km kik:ki "
    "kin:rw kir:ky kmr:ku kon:kg kor:ko lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lug:lg lvs:lv mal:ml mar:mr "
    "mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nep:ne nld:nl nno:nn nob:nb nor:no npi:ne nya:ny oci:oc ory:or "
    "pan:pa pbt:ps pes:fa plt:mg pol:pl por:pt quy:qu ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl smo:sm "
    "sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv swh:sw tam:ta tat:tt tel:te "
    "tgk:tg tgl:tl tha:th tir:ti tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz uzn:uz vie:vi wol:wo "
    "xho:xh ydd:yi yid:yi yor:yo zho:zh zsm:ms zul:zu").split())
M2M = re.compile(r"__([a-z]{2,3})__")
NLLB = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")
OPUS = re.compile(r">>([A-Za-z][A-Za-z0-9_-]*)<<")
SCRIPT = re.compile(r"[a-z]{3}-[A-Z][a-z]{3}")


def short_tags(tags: dict[str, int]) -> dict[str, int]:
    """The tags with two letters for those with three: zh for zho, and zh-Hant for zho-Hant."""
    return {SHORT[tag[:3]] + tag[3:]: token for tag, token in tags.items()
            if tag[:3] in SHORT and (len(tag) == 3 or SCRIPT.fullmatch(tag))}


def languages_of(pieces: dict[str, int]) -> Languages:
    """The languages of M2M-100, which has tokens such as __en__, and of NLLB, such as eng_Latn. None: `tokens` is
    empty."""
    of_m2m = {found[1]: token for piece, token in pieces.items() if (found := M2M.fullmatch(piece))}
    of_nllb = {piece.replace("_", "-"): token for piece, token in pieces.items() if NLLB.fullmatch(piece)}
    scripts: dict[str, dict[str, int]] = {}  # of each language with two letters
    for tag, token in short_tags(of_nllb).items():
        scripts.setdefault(tag[:2], {})[tag] = token
    first = {language: next(iter(tags.values())) for language, tags in scripts.items()}  # zh is zho_Hans
    several = {tag: token for tags in scripts.values() if len(tags) > 1 for tag, token in tags.items()}
    tokens = first | several | of_nllb | of_m2m
    names = sorted(tokens)
    return Languages(tokens, names, list(names), "source", "target")


def target_languages(pieces: dict[str, int], source: str) -> Languages | None:
    """The languages of an OPUS-MT model of several target languages: a token such as >>deu<< at the source's beginning
    selects one. None: it has no such tokens."""
    tags = {found[1].replace("_", "-"): token for piece, token in pieces.items() if (found := OPUS.fullmatch(piece))}
    if not tags:
        return None
    tags = short_tags(tags) | tags
    return Languages(tags, [source], sorted(tags), "target", "none")
