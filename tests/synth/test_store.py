"""The store of frontiers: what is read back, and what is set aside instead of being trusted."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roundelay.dsl.model import Limits
from roundelay.synth.bounds import bound
from roundelay.synth.frontier.chart import Asked, Kept
from roundelay.synth.frontier.explorer import explore
from roundelay.synth.frontier.ledger import Ledger
from roundelay.synth.frontier.store import Store, default_folder
from roundelay.synth.frontier.texts import canonical, key_of
from roundelay.synth.schedule import Found, Own, Query, Result, Schedule, Send
from roundelay.synth.timeline import price

from .problems import MAX, SUM, all_gather, all_reduce, ask, complete, line, ring

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Problem

    Form = dict[str, Any]


def pair() -> Problem:
    """Two ranks that exchange what they have: the smallest problem with a schedule."""
    return ask(line(2), all_gather(2))


def exchange(problem: Problem) -> Kept:
    """Its schedule: each sends its own chunk in the only step."""
    route = {(link.src, link.dst): i for i, link in enumerate(problem.topology.links)}
    sends = tuple(Send(0, r, r, 1 - r, (route[r, 1 - r],), (Own(0),)) for r in range(2))
    results = []
    for number, block in enumerate(problem.collective.blocks):
        for w, want in enumerate(block.wants):
            parts = (Own(0),) if want.rank == number else (got(number),)
            results.append(Result(number, w, parts))
    schedule = Schedule(problem, 1, 1, sends, tuple(results))
    return Kept(Found(schedule, price(schedule), "exact (by hand)"), 0.5)


def got(number: int) -> Any:
    from roundelay.synth.schedule import Got

    return Got(number)


def filled(problem: Problem) -> Ledger:
    """A ledger with a find, an impossibility and a query that is open."""
    ledger = Ledger(problem, bound(problem))
    ledger.keep(exchange(problem))
    ledger.note(Asked(Query(1, 1, Fraction(10**12)), "found", 0.5, "exact (by hand)"))
    ledger.note(
        Asked(Query(2, 1, Fraction(3, 2)), "impossible", 1.25, "exact (Z3)", "why", False, 4.0)
    )
    ledger.note(Asked(Query(3, 2, Fraction(5, 2)), "open", 2.5, "", "no answer", True, 2.5, 1.0))
    return ledger


def reread(folder: Path, problem: Problem, **options: bool) -> tuple[Ledger, list[str]]:
    told: list[str] = []
    ledger = Ledger(problem, bound(problem))
    Store(folder, problem, told.append, **options).load(ledger)
    return ledger, told


def written(folder: Path) -> Path:
    problem = pair()
    store = Store(folder, problem, pytest.fail)
    store.save(filled(problem))
    return store.path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    ledger, told = reread(tmp_path, pair())
    assert told == []
    assert ledger.asked == filled(pair()).asked
    assert ledger.kept == filled(pair()).kept


def test_fresh_looks_at_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    ledger, told = reread(tmp_path, pair(), fresh=True)
    assert (ledger.asked, ledger.kept, told) == ({}, {}, [])


def test_a_missing_file_is_no_fault(tmp_path: Path) -> None:
    ledger, told = reread(tmp_path / "nowhere", pair())
    assert (ledger.asked, told) == ({}, [])


def test_two_writers_keep_both_their_finds(tmp_path: Path) -> None:
    problem = pair()
    ours, theirs = (Store(tmp_path, problem, pytest.fail) for _ in range(2))
    one, other = (Ledger(problem, bound(problem)) for _ in range(2))
    one.keep(exchange(problem))
    ours.save(one)
    other.note(Asked(Query(2, 1, Fraction(3, 2)), "impossible", 1.0, "exact (Z3)"))
    theirs.save(other)
    one.note(Asked(Query(3, 1, Fraction(5, 2)), "open", 1.0, limit=1.0))
    ours.save(one)
    ledger, _ = reread(tmp_path, problem)
    assert len(ledger.kept) == 1
    assert [query.chunks for query in sorted(ledger.asked, key=lambda q: q.chunks)] == [2, 3]


# ------------------------------------------------------------------------------- damage


def resum(form: Form) -> None:
    """Give a form that was changed on purpose the sum of its new content."""
    content = {name: value for name, value in form.items() if name != "sum"}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    form["sum"] = hashlib.sha256(text.encode()).hexdigest()


def wrong_version(form: Form) -> None:
    form["format"] = 2


def other_problem(form: Form) -> None:
    form["key"] = "0" * 64


def missing_entry(form: Form) -> None:
    del form["asked"]


def entries_no_list(form: Form) -> None:
    form["found"] = {}


def send_dropped(form: Form) -> None:
    del form["found"][0]["schedule"]["sends"][0]


def send_elsewhere(form: Form) -> None:
    form["found"][0]["schedule"]["sends"][0][3] = 0


def route_out_of_range(form: Form) -> None:
    form["found"][0]["schedule"]["sends"][0][4] = [99]


def chunk_out_of_range(form: Form) -> None:
    form["found"][0]["schedule"]["sends"][0][1] = 7


def result_of_another(form: Form) -> None:
    form["found"][0]["schedule"]["results"][0][2] = [1]


def huge_steps(form: Form) -> None:
    form["found"][0]["schedule"]["steps"] = 1 << 30


def no_number(form: Form) -> None:
    form["found"][0]["schedule"]["steps"] = True


def cheaper_than_it_is(form: Form) -> None:
    form["found"][0]["per_byte"] = "1/1000000000000"


def fraction_by_zero(form: Form) -> None:
    form["asked"][0]["rounds"] = "1/0"


def verdict_turned(form: Form) -> None:
    """An impossibility is called found; the schedule that would show it does not exist."""
    entry = next(item for item in form["asked"] if item["verdict"] == "impossible")
    entry["verdict"] = "found"


def find_turned(form: Form) -> None:
    """What a schedule in the file does is called impossible."""
    entry = next(item for item in form["asked"] if item["verdict"] == "found")
    entry["verdict"] = "impossible"


def unknown_verdict(form: Form) -> None:
    form["asked"][0]["verdict"] = "perhaps"


def nobodys_verdict(form: Form) -> None:
    next(i for i in form["asked"] if i["verdict"] == "impossible")["engine"] = ""


def endless_time(form: Form) -> None:
    form["asked"][0]["seconds"] = float("nan")


EDITS: list[Callable[[Form], None]] = [
    wrong_version, other_problem, missing_entry, entries_no_list, send_dropped, send_elsewhere,
    route_out_of_range, chunk_out_of_range, result_of_another, huge_steps, no_number,
    cheaper_than_it_is, fraction_by_zero, verdict_turned, find_turned, unknown_verdict,
    nobodys_verdict, endless_time,
]  # fmt: skip


def assert_set_aside(path: Path) -> None:
    before = path.read_bytes()
    ledger, told = reread(path.parent, pair())
    assert (ledger.asked, ledger.kept) == ({}, {})
    assert len(told) == 1
    assert "\n" not in told[0]
    assert "is not used" in told[0]
    assert not path.exists()
    assert path.with_name(f"{path.name}.broken-1").read_bytes() == before


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edited_file_is_set_aside(tmp_path: Path, edit: Callable[[Form], None]) -> None:
    """Even one whose sum was made to fit."""
    path = written(tmp_path)
    form = json.loads(path.read_text())
    edit(form)
    resum(form)
    path.write_text(json.dumps(form))
    assert_set_aside(path)


def test_a_file_whose_sum_does_not_fit_is_set_aside(tmp_path: Path) -> None:
    path = written(tmp_path)
    form = json.loads(path.read_text())
    form["asked"][0]["seconds"] += 1
    path.write_text(json.dumps(form))
    assert_set_aside(path)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"format": 1}', b"9" * 5000],
    ids=["empty", "brace", "list", "null", "no text", "deep", "bare", "digits"],
)
def test_what_is_no_frontier_is_set_aside(tmp_path: Path, data: bytes) -> None:
    path = written(tmp_path)
    path.write_bytes(data)
    assert_set_aside(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_set_aside(tmp_path: Path, share: float) -> None:
    path = written(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert_set_aside(path)


def test_another_problems_file_under_our_name_is_set_aside(tmp_path: Path) -> None:
    path = written(tmp_path)
    other = ask(line(3), all_gather(3))
    store = Store(tmp_path, other, pytest.fail)
    path.rename(store.path)
    ledger, told = reread(tmp_path, other)
    assert ledger.asked == {}
    assert "another problem's" in told[0]


def test_broken_files_do_not_replace_each_other(tmp_path: Path) -> None:
    for _ in range(3):
        path = written(tmp_path)
        path.write_bytes(b"?")
        reread(tmp_path, pair())
    names = sorted(item.name for item in tmp_path.iterdir())
    assert names == [f"{path.name}.broken-{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_set_aside(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A pipe would be waited for, until somebody writes into it."""
    path = Store(tmp_path, pair(), pytest.fail).path
    make(path)
    ledger, told = reread(tmp_path, pair())
    assert (ledger.asked, len(told)) == ({}, 1)
    assert "it is no file" in told[0]
    assert [item.name for item in tmp_path.iterdir()] == [f"{path.name}.broken-1"]
    written(tmp_path)
    assert path.is_file()


def test_a_folder_that_takes_no_file_is_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told: list[str] = []
    problem = ask(complete(3), all_reduce(3), limits=Limits(chunks=(1, 2), steps=(1, 2)))
    store = Store(tmp_path / "file", problem, told.append)
    chart = explore(problem, budget=10, store=store)
    assert chart.points
    assert len(told) == 1
    assert "nothing is kept" in told[0]


def test_a_broken_file_does_not_stop_a_walk(tmp_path: Path) -> None:
    problem = ask(complete(3), all_reduce(3), limits=Limits(chunks=(1, 2), steps=(1, 2)))
    told: list[str] = []
    store = Store(tmp_path, problem, told.append)
    store.path.write_text("{}")
    chart = explore(problem, budget=10, store=store)
    assert chart.settled
    assert len(told) == 1
    assert explore(problem, budget=10, store=Store(tmp_path, problem, pytest.fail)).queries == 0


# ------------------------------------------------------------------------------- the name


def test_names_and_wishes_do_not_matter() -> None:
    problem = ask(ring(4), all_reduce(4))
    renamed = replace(problem, topology=replace(problem.topology, name="other"))
    wishing = replace(problem, limits=Limits(chunks=(1, 2), steps=(1, 3), budget=Fraction(5)))
    also = replace(problem, operator=replace(SUM, name="plus"))
    assert len({key_of(each) for each in (problem, renamed, wishing, also)}) == 1


def test_what_changes_schedules_changes_the_name() -> None:
    problem = ask(ring(4), all_reduce(4))
    first = problem.topology.links[0]
    faster = (replace(first, bandwidth=2 * first.bandwidth), *problem.topology.links[1:])
    later = (replace(first, latency=2 * first.latency), *problem.topology.links[1:])
    without = problem.topology.links[1:]
    several = [
        problem,
        ask(ring(5), all_reduce(5)),
        ask(ring(4), all_gather(4)),
        ask(ring(4), all_reduce(4), MAX),
        *(
            replace(problem, topology=replace(problem.topology, links=links))
            for links in (faster, later, without)
        ),
        replace(problem, limits=Limits(in_place=True)),
        replace(problem, limits=Limits(channels=1)),
        replace(problem, limits=Limits(symmetric=True)),
    ]
    assert len({canonical(each) for each in several}) == len(several)
    assert len({key_of(each) for each in several}) == len(several)


def test_the_folder_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDELAY_STORE", os.path.join("some", "where"))  # noqa: PTH118 - text.
    assert default_folder() == Path("some/where")
    monkeypatch.delenv("ROUNDELAY_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_folder() == Path("/caches/roundelay/frontier")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_folder() == Path("/home/me/.cache/roundelay/frontier")
