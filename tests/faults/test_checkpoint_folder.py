"""Where checkpoints cannot be written, events are taken all the same, and it is said."""

from pathlib import Path

import httpx
import pytest

from tests.acknowledged import check_record, check_verified
from tests.faults.clients import Resending, wait_until
from tests.processes import serving


def _failures(url: str) -> float:
    lines = httpx.get(f"{url}/metrics", trust_env=False).text.splitlines()
    return next(
        float(x.split()[1]) for x in lines if x.startswith("doxa_checkpoint_failures_total")
    )


def test_a_checkpoint_folder_that_cannot_be_written_holds_up_nothing_and_is_counted(
    database_url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("outside") / "checkpoints"
    load = Resending()
    with (
        serving(
            database_url=database_url, data_dir=str(tmp_path), checkpoint_dir=str(folder)
        ) as service,
        load.writing(service.url),
    ):
        load.wait_for(acknowledged=5)
        wait_until(lambda: folder.exists() and any(folder.iterdir()))
        # Permissions stop no root: a file in the folder's place stops everybody.
        aside = folder.rename(folder.with_name("aside"))
        folder.write_text("in the way")
        before = _failures(service.url)
        load.wait_for(acknowledged=5)
        wait_until(lambda: _failures(service.url) > before)
        load.wait_for(acknowledged=5)
        assert httpx.get(f"{service.url}/readyz", trust_env=False).status_code == 200
        folder.unlink()
        aside.rename(folder)
        load.finish()
        assert service.terminate()[0] == 0
    assert load.refused == load.unanswered == 0
    check_record(database_url, load.acknowledged)
    check_verified(database_url, tmp_path, folder)
