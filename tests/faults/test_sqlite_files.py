"""Failing system calls on the database's files under load: nothing acknowledged is lost."""

import errno
from pathlib import Path

import httpx
import pytest

from tests.acknowledged import check_record, check_verified
from tests.faults.clients import Resending
from tests.faults.shim import Fault, Shim
from tests.processes import serving

_FAULTS = {
    "no write reaches the disk": Fault("w"),
    "no sync reaches the disk": Fault("s"),
    "the disk is full": Fault("w", errno.ENOSPC),
    "each seventh write fails": Fault("w", every=7),
    "each third sync fails": Fault("s", every=3),
    # SQLite calls a file whose reading fails malformed, though the disk may be well again soon.
    "each fifth read, write or sync fails": Fault("rws", every=5),
}


def _settings(folder: Path, elsewhere: Path) -> dict[str, str]:
    url = f"sqlite:///{folder / 'doxa.db'}"
    return {"database_url": url, "data_dir": str(folder), "checkpoint_dir": str(elsewhere)}


def _check(settings: dict[str, str], load: Resending) -> None:
    url = settings["database_url"]
    check_record(url, load.acknowledged)
    check_verified(url, Path(settings["data_dir"]), Path(settings["checkpoint_dir"]))


@pytest.mark.parametrize("fault", list(_FAULTS.values()), ids=list(_FAULTS))
def test_when_calls_fail_the_service_refuses_and_goes_on_afterwards(
    faults: Shim, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, fault: Fault
) -> None:
    settings = _settings(tmp_path, tmp_path_factory.mktemp("checkpoints"))
    load = Resending()
    with serving(**settings) as service, load.writing(service.url):
        load.wait_for(acknowledged=5)
        for _ in range(2):
            fired = faults.fired()
            faults.start(fault)
            load.wait_for(trouble=5)
            faults.stop()
            assert faults.fired() > fired
            load.wait_for(acknowledged=5)
        load.finish()
        assert httpx.get(f"{service.url}/readyz", trust_env=False).status_code == 200
        assert service.terminate()[0] == 0
    assert load.refused >= 10
    assert load.unanswered == 0
    _check(settings, load)


@pytest.mark.parametrize("fault", [Fault("w"), Fault("s")], ids=["writes", "syncs"])
def test_a_service_killed_while_calls_fail_starts_again_with_all_it_acknowledged(
    faults: Shim, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, fault: Fault
) -> None:
    settings = _settings(tmp_path, tmp_path_factory.mktemp("checkpoints"))
    load = Resending()
    with serving(**settings) as first, load.writing(first.url):
        load.wait_for(acknowledged=5)
        faults.start(fault)
        load.wait_for(trouble=5)
        assert faults.fired() > 0
        first.kill()
        faults.stop()
        with serving(**settings) as second:
            load.url = second.url
            load.wait_for(acknowledged=5)
            load.finish()
            assert second.terminate()[0] == 0
    assert load.refused > 0
    _check(settings, load)
