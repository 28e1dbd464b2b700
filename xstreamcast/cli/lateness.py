"""``--lateness [NAME=]DURATION``: how late what a stream brings may be."""

from __future__ import annotations

from xstreamcast.cli.options import WrongCall


def durations(given: list[str]) -> dict[str, float]:
    """``[NAME=]DURATION``: an xs:dayTimeDuration, or seconds."""
    from xstreamcast.model.datetime import SECOND, parse_duration

    made = {}
    for pair in given:
        name, sign, text = pair.partition("=")
        name, text = (name, text) if sign else ("", name)
        duration = parse_duration(text)
        if duration is not None and not duration.months:
            made[name] = duration.ticks / SECOND
        elif text.replace(".", "", 1).isdecimal():
            made[name] = float(text)
        else:
            raise WrongCall(f"--lateness is a time such as PT1M, or seconds, not {text!r}")
    return made
