"""What every test has: compiled kernels stay out of the user's cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("ROUNDELAY_CACHE_DIR")
    os.environ["ROUNDELAY_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["ROUNDELAY_CACHE_DIR"]
    else:
        os.environ["ROUNDELAY_CACHE_DIR"] = before
