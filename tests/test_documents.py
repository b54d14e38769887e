"""README.md and docs/ say what is so: their blocks run, their links lead somewhere, generated pages are up to date.

`sh` and `python` blocks of a page run in order, in an empty directory. A block with a file's name behind its kind
(`toml my-suite.toml`) is written to that file first. What can't run here is `text`; `text answer` is what the commands
before it print, where that is the same each time; of several tables it may leave some out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from devices import loop_device, needs_root

from loadline.cli.progress import KINDS
from loadline.system.description import settable

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

# Put behind what a page shows, so that it takes a moment instead of an hour. The last of an option counts.
RUN_LIMITS = " --quick --runtime 300ms --size 32M"
DEMO_LIMITS = " DEMO_LIMITS='--quick --runtime 200ms --size 32M' DEMO_EMULATED_LIMITS='--quick --runtime 200ms'"

_BLOCK = re.compile(r"^```(\w+)(?: +([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    kind: str
    file: str | None
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, file or None, text) for kind, file, text in _BLOCK.findall(page.read_text())]


def runs(block: Block) -> bool:
    return block.kind in {"sh", "python"}


def of_pages(pages: list[Path]) -> list[object]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


def names_device(page: Path) -> bool:
    return any("/dev/sdX" in block.text for block in blocks(page) if runs(block))


WITH_BLOCKS = [page for page in PAGES if any(runs(block) for block in blocks(page))]


def substituted(script: str, device: Path | None) -> str:
    """A page's commands, on things of this test's own."""
    script = script.replace("\\\n", " ").replace("git clone URL", f"git clone --quiet '{ROOT}'")
    if device is not None:
        # A loop device has no serial number: its path stands for it.
        script = script.replace("--destroy SERIAL", f"--destroy {device}").replace("/dev/sdX", str(device))
    lines = script.splitlines()
    for number, line in enumerate(lines):
        command, hash_, comment = line.partition("  #")
        if command.startswith("loadline run ") and "--as-published" not in command:
            # An option of one value may be given once, so these stand in for the page's own.
            command = re.sub(r" --(size|runtime) \S+", "", command) + RUN_LIMITS
        elif command == "make demo":
            command += DEMO_LIMITS
        lines[number] = command + hash_ + comment
    return "\n".join(lines) + "\n"


def play(page: Path, folder: Path, device: Path | None = None) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"LOADLINE_STORE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # Cargo tells two checkouts in one target directory apart by their files' times only, so a clone has another one.
    environment["CARGO_TARGET_DIR"] = str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "elsewhere")
    printed = ""
    for block in blocks(page):
        if (block.kind, block.file) == ("text", "answer"):
            for table in block.text.strip().split("\n\n"):
                assert table in printed, f"{page.name}:\n{table}\nisn't what was printed:\n{printed}"
        elif block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text)
        elif runs(block):
            command = (
                ["bash", "-euo", "pipefail", "-c", substituted(block.text, device)]
                if block.kind == "sh"
                else [sys.executable, "-c", block.text]
            )
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert done.returncode == 0, f"{page.name}:\n{block.text}\n{done.stdout}"
            printed += done.stdout


@pytest.mark.parametrize("page", of_pages([page for page in WITH_BLOCKS if not names_device(page)]))
def test_what_a_page_shows_runs(page: Path, tmp_path: Path) -> None:
    play(page, tmp_path)


class TestOnADevice:
    pytestmark = needs_root

    @pytest.mark.parametrize("page", of_pages([page for page in WITH_BLOCKS if names_device(page)]))
    def test_what_a_page_shows_runs(self, page: Path, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        with loop_device(tmp_path / "device.img") as device:
            play(page, folder, device)


@pytest.mark.parametrize("page", of_pages(PAGES))
def test_every_link_within_the_tree_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), f"{page.name}: {link}"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", aim.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, link


def test_every_page_is_named_where_its_kind_is_listed() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        if page.name == "README.md":
            continue
        listing = page.parent / "README.md" if page.parent.name == "decisions" else ROOT / "docs/README.md"
        aims = {(listing.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(listing.read_text())}
        assert page in aims, f"{listing} doesn't lead to {page}"


def test_the_kinds_of_progress_that_are_told_are_those_that_can_be_given() -> None:
    sentence = re.search(r"`--progress` is ([^.]*)\.", (ROOT / "docs/reference/command-line.md").read_text())
    assert sentence is not None
    assert sorted(re.findall(r"`(\w+)`", sentence[1])) == sorted(KINDS)


def test_words_of_the_glossary_stand_once_and_in_order() -> None:
    rows = re.findall(r"^\| (.+?) \| ", (ROOT / "docs/reference/glossary.md").read_text(), re.MULTILINE)
    words = [word.lower() for word in rows[1:]]
    assert len(words) > 50
    assert words == sorted(set(words))


def test_the_guide_explains_every_key_of_a_system() -> None:
    explained = set()
    table = ""
    for line in (ROOT / "docs/guides/describe-your-own-array.md").read_text().splitlines():
        if head := re.match(r"\| `\[(\w+)\]` \|", line):
            table = head[1]
        elif row := re.match(r"\| (`\w+`(?:, `\w+`)*) \|", line):
            explained |= {f"{table}.{key}" for key in re.findall(r"\w+", row[1])}
    assert explained == {key for key in settable() if "." in key}


@pytest.mark.parametrize("page", of_pages(PAGES))
def test_every_block_says_its_kind(page: Path) -> None:
    fences = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)
    assert all(fences[::2]), "a block begins with ``` and its kind"
    assert not any(fences[1::2])


def test_the_generated_pages_are_those_of_the_code() -> None:
    spec = spec_from_file_location("reference", ROOT / "scripts/reference.py")
    assert spec is not None and spec.loader is not None
    reference = module_from_spec(spec)
    spec.loader.exec_module(reference)
    for name, page in reference.PAGES.items():
        assert (ROOT / "docs/reference" / name).read_text() == page(), f"{name} is out of date: make docs"
