"""What programs read of a machine: one JSON object whose keys are only ever added to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .records import exact

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology
    from roundelay.synth.profile import Cut, Distance, Profile


def show_json(topology: Topology, profile: Profile) -> dict[str, Any]:
    """The object that ``show --json`` prints; keys are only ever added.

    Nodes are numbered, ranks first. Quantities are exact: a whole number, or ``p/q``; ``Bps`` is
    bytes a second.
    """
    halves = profile.bisection
    return {
        "name": topology.name,
        "ranks": [rank.name for rank in topology.ranks],
        "switches": [
            {"name": each.name, "multicast": each.multicast, "reduce": each.reduce}
            for each in topology.switches
        ],
        "links": [
            {
                "src": link.src,
                "dst": link.dst,
                "count": link.count,
                "bandwidth_Bps": exact(link.bandwidth),
                "latency_s": exact(link.latency),
            }
            for link in topology.links
        ],
        "assumed": dict(topology.assumed),
        "directed_links": profile.links,
        "symmetric": profile.symmetric,
        "ends": [
            {
                "ranks": list(each.ranks),
                "links_out": each.links_out,
                "links_in": each.links_in,
                "out_Bps": exact(each.out),
                "in_Bps": exact(each.into),
            }
            for each in profile.ends
        ],
        "steps": _distance_json(profile.steps),
        "latency_s": _distance_json(profile.latency),
        "isolating_cut": _cut_json(profile.isolating),
        "weakest_cut": _cut_json(profile.weakest),
        "bisection": None
        if halves is None
        else {
            "low_Bps": exact(halves.low),
            "high_Bps": exact(halves.high),
            "exact": halves.exact,
            "side": list(halves.side),
            "inward": halves.inward,
            "method": halves.method,
        },
        "skipped": list(profile.skipped),
    }


def _distance_json(distance: Distance | None) -> dict[str, Any] | None:
    if distance is None:
        return None
    return {"length": exact(distance.length), "src": distance.src, "dst": distance.dst}


def _cut_json(cut: Cut | None) -> dict[str, Any] | None:
    if cut is None:
        return None
    return {"capacity_Bps": exact(cut.capacity), "side": list(cut.side)}
