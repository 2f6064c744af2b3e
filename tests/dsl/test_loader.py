"""Where texts come from: files of every kind, and command lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

from roundelay.dsl import files
from roundelay.dsl.loader import load, on_file, problem, read_source
from roundelay.dsl.model import Problem
from roundelay.dsl.source import InputError, Source

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("*.rly"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_load_without_a_warning(path: Path) -> None:
    module = load(read_source(path))
    assert module.warnings == ()
    (plan,) = module.plans
    topology = plan.topology if isinstance(plan, Problem) else plan.problem.topology
    sizes = {"three": 3, "five": 5, "six": 6, "seven": 7, "dgx1": 8, "dgx1_partial": 5}
    assert len(topology.ranks) == sizes.get(path.stem, 4)


def test_the_examples_are_these() -> None:
    assert {path.stem for path in EXAMPLES} >= {
        "dgx1", "pcie_box", "dgx1_partial", "three", "five", "six", "seven", "all_to_all",
    }  # fmt: skip


def test_the_partial_machine_is_the_whole_one_without_the_rest() -> None:
    folder = EXAMPLES[0].parent
    (part,) = load(read_source(folder / "dgx1_partial.rly")).topologies
    (whole,) = load(read_source(folder / "dgx1.rly")).topologies
    kept = [0, 1, 2, 3, 7]

    def links(keep: list[int], it: object) -> set[tuple[int, int, int, object, object]]:
        assert isinstance(it, type(whole))
        return {
            (keep.index(link.src), keep.index(link.dst), link.count, link.bandwidth, link.latency)
            for link in it.links
            if link.src in keep and link.dst in keep
        }

    assert links(kept, whole) == links(list(range(5)), part)
    assert [rank.name for rank in part.ranks] == [f"gpu{i}" for i in kept]
    library = problem("dgx1", "all_gather", ()).topology
    assert links(list(range(8)), library) == links(list(range(8)), whole)


PLAN = "plan {\n  synthesize all_gather on ring(3)\n}\n"


def test_byte_order_marks_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.rly"
    for data in (PLAN.encode(), PLAN.replace("\n", "\r\n").encode("utf-8-sig")):
        path.write_bytes(data)
        assert read_source(path) == Source(str(path), PLAN)
    path.write_bytes(b"# \xc3\xa9t\xc3\xa9\r\nplan {\r  x }")
    with pytest.raises(InputError, match=r"a\.rly:3:3: error: unknown option 'x'"):
        load(read_source(path))


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_source(path)
    (fault,) = caught.value.faults
    return fault.render().replace(str(path.parent), "DIR")


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dgx1.rly").write_text(PLAN)
    assert message(tmp_path / "dxg1.rly") == (
        "error: DIR/dxg1.rly does not exist\n  remedy: did you mean DIR/dgx1.rly"
    )
    assert message(tmp_path / "nothing" / "a.rly") == "error: DIR/a.rly does not exist"
    assert message(tmp_path / "nothing") == "error: DIR/nothing does not exist"
    (tmp_path / "folder").mkdir()
    assert message(tmp_path / "folder").startswith("error: DIR/folder is a folder")
    (tmp_path / "zero").write_bytes(b"plan\0{}")
    assert "not a text file: it has zero bytes" in message(tmp_path / "zero")
    (tmp_path / "binary").write_bytes(b"\x7fELF\xff\xfe")
    assert "not a text file: byte 4" in message(tmp_path / "binary")
    assert "cannot be read" in message(tmp_path / "dgx1.rly" / "a")
    assert "cannot be read" in message(tmp_path / "a\0b")
    monkeypatch.setattr(files, "BYTES", len(PLAN))
    assert read_source(tmp_path / "dgx1.rly").text == PLAN
    monkeypatch.setattr(files, "BYTES", len(PLAN) - 1)
    assert "is too large" in message(tmp_path / "dgx1.rly")


def test_an_empty_text_means_nothing() -> None:
    module = load(Source("test", "\n"))
    assert (module.plans, module.topologies) == ((), ())


@pytest.mark.parametrize(
    ("machine", "collective", "arguments", "expected"),
    [
        ("dgxl", "all_reduce", ("sum",), "command line:1:1: error: unknown topology 'dgxl'"),
        ("ring(4", "all_reduce", ("sum",), "command line:1:7: error: the text ends too early"),
        ("ring()", "all_reduce", ("sum",), "command line:1:1: error: topology 'ring' lacks 'n'"),
        ("ring(-1)", "all_reduce", ("sum",), "command line:1:1: error: ring(-1): the size of"),
        ("ring(4)", "all_reduce", (), "command line:1:1: error: collective 'all_reduce' lacks"),
        ("ring(4)", "allreduce", (), "command line:1:1: error: unknown collective 'allreduce'"),
        ("ring(4)", "reduce", ("sum", "9"), "command line:1:1: error: reduce(sum, 9): rank 9"),
        ("ring(4)", "reduce", ("sum", "x"), "command line:1:13: error: unknown name 'x'"),
        ("ring(4)", "all_gather", ("sum",), "command line:1:12: error: too many arguments"),
        ("ring(4)", "all_reduce", (") on",), "command line:1:14: error: unexpected 'on'"),
        ("ring(4)", "a b", (), "command line:1:3: error: unexpected 'b'"),
        ("", "all_reduce", ("sum",), "command line:1:1: error: the text ends too early"),
        ("examples/a.rly", "all_reduce", ("sum",), "command line:1:9: error: unexpected '/'"),
    ],
)
def test_command_lines_that_are_wrong(
    machine: str, collective: str, arguments: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        problem(machine, collective, arguments)
    assert str(caught.value).startswith(expected)


def test_both_halves_of_a_command_line_are_blamed_at_once() -> None:
    with pytest.raises(InputError) as caught:
        problem("dgx3", "all_reduce", ("summ",))
    assert [fault.message for fault in caught.value.faults] == [
        "unknown topology 'dgx3'", "unknown operator 'summ'",
    ]  # fmt: skip


def test_a_collective_on_a_file() -> None:
    text = (
        "topology a { ranks g[2] link g[0] <-> g[1] at 1 GB/s, 1 us }\n"
        "topology b { ranks g[3] link g[i] -> g[(i + 1) % 3] at 1 GB/s, 1 us for i in 0..3 }\n"
        "topology family(n) { ranks g[n] }\n"
        "operator mine(a, b) = a + b\n"
    )
    it = on_file(Source("test", text), "all_reduce", ("mine",))
    assert it.topology.name == "b"
    assert it.operator is not None
    assert it.operator.name == "mine"
    assert it.limits.chunks is None
    borrowed = on_file(Source("test", PLAN), "broadcast", ("root = 1",))
    assert (borrowed.topology.name, borrowed.collective.root) == ("ring(3)", 1)


def test_a_collective_on_a_file_that_has_no_machine_or_is_wrong() -> None:
    with pytest.raises(InputError, match="test has no topology to run on"):
        on_file(Source("test", "topology family(n) { ranks g[n] }"), "all_gather", ())
    with pytest.raises(InputError, match="test:1:22: error: the size"):
        on_file(Source("test", "topology t { ranks g[0] }"), "all_gather", ())
    with pytest.raises(InputError, match="command line:1:1: error: unknown collective"):
        on_file(Source("test", "topology t { ranks g }"), "all_gathr", ())


def test_two_thousand_lines_and_thousands_of_links_are_quick() -> None:
    rows = "".join(f"  link a[{i}] <-> a[{i} + 1] x2 at 25 GB/s, 0.7 us\n" for i in range(1999))
    text = f"topology long {{\n  ranks a[2000]\n{rows}}}\n"
    load(Source("warm", PLAN))
    start = process_time()
    (long,) = load(Source("test", text)).topologies
    middle = process_time()
    torus = problem("torus(40, 50)", "broadcast", ("0",)).topology
    assert (len(long.links), len(torus.links)) == (3998, 8000)
    # A few times what they take, for slow machines.
    assert middle - start < 3
    assert process_time() - middle < 2


def test_importing_the_language_is_light() -> None:
    heavy = ["z3", "numba", "ortools", "numpy", "rich", "typer"]
    code = (
        "import sys, roundelay.dsl, roundelay.dsl.loader\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_of_too_many_faults_the_first_are_shown() -> None:
    loop = "".join(f"topology t{i} {{ ranks a[0] }}\n" for i in range(130))
    with pytest.raises(InputError) as caught:
        load(Source("many.rly", loop))
    assert len(caught.value.faults) == 130
    assert str(caught.value).count("error: the size of 'a' is 0") == 100
    assert str(caught.value).endswith("\nerror: and 30 faults more")
