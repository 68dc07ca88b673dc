"""A strict reader of Prometheus' text format, and what else its conventions ask for."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+-]+|\+Inf|NaN)")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}


def read(text):
    """{family: (kind, {(name, labels): value})}; ValueError: it is not in the format."""
    families, name, kind = {}, None, None
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            if name in families:
                raise ValueError(f"{name} is described twice")
            kind = None
        elif line.startswith("# TYPE "):
            _, _, told, kind = line.split(" ")
            if told != name or kind not in ("counter", "gauge", "histogram"):
                raise ValueError(f"'{line}' after the help of {name}")
            families[name] = (kind, {})
        else:
            read_sample(line, families, name, kind)
    check(families)
    return families


def read_sample(line, families, name, kind):
    found = SAMPLE.fullmatch(line)
    if not found or kind is None:
        raise ValueError(f"'{line}' is no sample")
    allowed = [name + suffix for suffix in SUFFIXES.get(kind, ("",))]
    if found[1] not in allowed:
        raise ValueError(f"'{line}' among the samples of {name}")
    key = (found[1], found[2] or "")
    if key in families[name][1]:
        raise ValueError(f"{key} is there twice")
    families[name][1][key] = float(found[3])


def check(families):
    for name, (kind, samples) in families.items():
        if (kind == "counter") != name.endswith("_total"):
            raise ValueError(f"{name}: counters, and nothing else, end in _total")
        if not samples:
            raise ValueError(f"{name} has no samples")
        if kind == "histogram":
            check_histogram(name, samples)


def check_histogram(name, samples):
    rows = {}
    for (sample, labels), value in samples.items():
        if sample == name + "_bucket":
            le = re.search(r'le="([^"]*)"', labels)[1]
            rest = re.sub(r',?le="[^"]*"', "", labels)
            rows.setdefault(rest, []).append((float(le.replace("+Inf", "inf")), value))
    for labels, buckets in rows.items():
        bounds, counts = zip(*buckets)
        if list(bounds) != sorted(bounds) or list(counts) != sorted(counts):
            raise ValueError(f"{name}{{{labels}}}: buckets are not in order")
        if bounds[-1] != float("inf") or counts[-1] != samples[(name + "_count", labels)]:
            raise ValueError(f"{name}{{{labels}}}: the last bucket is not the count")
