"""Files that the command line writes: whole or not at all, and nothing else in their place."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roundelay import charting, pipeline
from roundelay.dsl.source import InputError
from roundelay.writing import require_file, write_files, write_text

if TYPE_CHECKING:
    from .conftest import Command

TEXT = "a\nb\N{LATIN SMALL LETTER E WITH ACUTE}\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDELAY_STORE", str(tmp_path / "store"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def names(folder: Path = Path()) -> list[str]:
    """All that is in a folder, hidden or not."""
    return sorted(item.name for item in folder.iterdir())


def test_a_file_and_the_folders_above_it_are_made() -> None:
    path = Path("a", "b", "file.svg")
    assert write_text(path, TEXT) == path
    assert path.read_bytes() == TEXT.encode()
    assert names(path.parent) == ["file.svg"]


def test_a_new_file_has_the_rights_of_any_and_an_old_one_keeps_its_own() -> None:
    mask = os.umask(0o027)
    try:
        write_text(Path("new"), TEXT)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o640
    Path("new").chmod(0o604)
    write_text(Path("new"), "other")
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o604
    assert Path("new").read_text() == "other"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(there: bool) -> None:
    Path("folder").mkdir()
    if there:
        Path("folder", "real").write_text("old")
    Path("link").symlink_to(Path("folder", "real"))
    write_text(Path("link"), TEXT)
    assert Path("link").is_symlink()
    assert Path("folder", "real").read_bytes() == TEXT.encode()
    assert (names(), names(Path("folder"))) == (["folder", "link"], ["real"])


def test_a_pipe_is_written_to_and_stays() -> None:
    os.mkfifo("pipe")
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    require_file(Path("pipe"), "--plot", ".svg")
    write_text(Path("pipe"), TEXT)
    reader.join(10)
    assert heard == [TEXT.encode()]
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
    assert names() == ["pipe"]


@pytest.mark.parametrize("name", [".", "", "/", "..", "folder", "link", "file/x", "x" * 300])
def test_what_takes_no_file_is_a_fault_that_names_it(name: str) -> None:
    Path("folder").mkdir()
    Path("link").symlink_to("folder")
    Path("file").write_text("old")
    with pytest.raises(InputError, match="cannot write") as caught:
        write_text(Path(name), TEXT)
    assert f"cannot write {Path(name)}: " in str(caught.value)
    assert ".partial" not in str(caught.value)
    assert names() == ["file", "folder", "link"]
    assert names(Path("folder")) == []


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_what_is_broken_off_leaves_nothing(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("old")

    def broken(*_: object) -> None:
        raise kind

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(KeyboardInterrupt if kind is KeyboardInterrupt else InputError):
        write_text(Path("file"), TEXT)
    assert names() == ["file"]
    assert Path("file").read_text() == "old"


def test_two_writers_do_not_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins and ends while the first has its text, but not yet its name."""
    replace, waiting = os.replace, [Path("file")]

    def late(old: str, new: Path) -> None:
        if waiting:
            write_text(waiting.pop(), "the other's")
        replace(old, new)

    monkeypatch.setattr(os, "replace", late)
    write_text(Path("file"), TEXT)
    assert Path("file").read_bytes() == TEXT.encode()
    assert names() == ["file"]


def test_files_are_written_up_to_the_first_that_cannot_be() -> None:
    Path("b").mkdir()
    written = write_files((Path(name), TEXT) for name in "abc")
    assert written.paths == (Path("a"),)
    assert names() == ["a", "b"]
    with pytest.raises(InputError, match="cannot write b: it is a folder"):
        written.require()
    write_files([(Path("c"), TEXT)]).require()


# ------------------------------------------------------------------------------- the verbs


@pytest.mark.parametrize(
    ("verb", "option"), [("frontier", "--plot"), ("show", "--svg")], ids=["frontier", "show"]
)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "cannot write .: it is a folder"),
        ("", "cannot write .: it is a folder"),
        ("/", "cannot write /: it is a folder"),
        ("there.svg", "cannot write there.svg: it is a folder"),
        ("file/x.svg", "cannot write into"),
        ("x.png", "x.png does not end in .svg"),
        ("x", "x does not end in .svg"),
    ],
)
def test_pictures_are_refused_before_anything_is_done(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch,
    verb: str, option: str, name: str, message: str,
) -> None:  # fmt: skip
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("the machine was looked at")

    Path("there.svg").mkdir()
    Path("file").write_text("old")
    monkeypatch.setattr(pipeline, "read", asked)
    monkeypatch.setattr(pipeline, "look", asked)
    done = roundelay(verb, "ring(4)", option, name)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert option in done.err
    assert " -o" not in done.err
    assert names() == ["file", "there.svg"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_chart_is_told_though_its_picture_cannot_be_written(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """The folder turns up while the search is on."""
    print_lines = charting._print

    def hinder(lines: list[str]) -> None:
        Path("x.svg").mkdir(exist_ok=True)
        print_lines(lines)

    monkeypatch.setattr(charting, "_print", hinder)
    words = ["frontier", "line(2)", "--chunks", 1, "--plot", "x.svg"]
    done = roundelay(*words, *(["--json"] if as_json else []))
    assert done.status == 2
    assert "cannot write x.svg: it is a folder" in done.err
    if as_json:
        assert json.loads(done.out)["points"]
    else:
        assert "steps  chunks" in done.out
        assert "wrote" not in done.out
    assert names() == ["x.svg"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_machine_is_shown_though_its_picture_cannot_be_written(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    look = pipeline.look

    def hinder(target: str) -> object:
        Path("x.svg").mkdir()
        return look(target)

    monkeypatch.setattr(pipeline, "look", hinder)
    done = roundelay("show", "ring(4)", "--svg", "x.svg", *(["--json"] if as_json else []))
    assert done.status == 2
    assert "cannot write x.svg: it is a folder" in done.err
    if as_json:
        assert json.loads(done.out)["svg"] is None
    else:
        assert "ring(4)" in done.out
        assert "wrote" not in done.out


NEVER = ("synth", "complete(4)", "--chunks", 2, "--steps", 1, "--rounds", 1, "--export", "out")


@pytest.mark.parametrize("as_json", [True, False])
def test_an_answer_is_told_though_its_query_cannot_be_written(
    roundelay: Command, as_json: bool
) -> None:
    assert roundelay(*NEVER).status == 2
    first, second = (Path("out", name) for name in names(Path("out")))
    assert second.suffix == ".smt2"
    second.unlink()
    second.mkdir()
    done = roundelay(*NEVER, *(["--json"] if as_json else []))
    assert done.status == 2
    assert f"cannot write {second}: it is a folder" in done.err
    assert names(Path("out")) == [first.name, second.name]
    if as_json:
        record = json.loads(done.out)
        assert record["outcome"] == "impossible"
        assert record["exported"] == [str(first)]
    else:
        assert f"exported  {first}" in done.out
        assert "answer" in done.out


@pytest.mark.parametrize("as_json", [True, False])
def test_a_schedule_is_told_though_its_kernels_cannot_be_written(
    roundelay: Command, as_json: bool
) -> None:
    words = ("codegen", "line(2)", "-o", "out", "--chunks", 1, "--steps", 1, "--json")
    (name,) = json.loads(roundelay(*words).out)["files"]
    Path(name).unlink()
    Path(name).mkdir()
    done = roundelay(*(words if as_json else words[:-1]))
    assert done.status == 2
    assert f"cannot write {name}: it is a folder" in done.err
    if as_json:
        record = json.loads(done.out)
        assert (record["outcome"], record["files"]) == ("found", [])
    else:
        assert "cost      1 us + size / 50.00 GB/s" in done.out
        assert "wrote" not in done.out
