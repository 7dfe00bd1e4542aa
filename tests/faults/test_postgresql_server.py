"""A PostgreSQL server that dies, or drops connections, in the middle of a load."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from cli.server import prepare_database
from service.settings import Settings
from tests.acknowledged import check_record, check_verified
from tests.faults.clients import Resending, wait_until
from tests.postgres import PostgresCluster, running_cluster
from tests.processes import serving


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[PostgresCluster]:
    """A server that only these tests use, as they kill it."""
    with running_cluster() as cluster:
        yield cluster


def _settings(url: str, folder: Path, elsewhere: Path) -> dict[str, str]:
    prepare_database(Settings(database_url=url, data_dir=folder))
    return {"database_url": url, "data_dir": str(folder), "checkpoint_dir": str(elsewhere)}


def _kill_a_process_of_the_server(url: str) -> None:
    """SIGKILL to a writing process: the server ends all others and recovers from its log."""
    with psycopg.connect(url) as other:
        row = other.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() ORDER BY state_change DESC LIMIT 1"
        ).fetchone()
    assert row is not None
    os.kill(row[0], signal.SIGKILL)


def test_a_server_killed_under_load_comes_back_with_all_that_was_acknowledged(
    own_cluster: PostgresCluster, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url, elsewhere = own_cluster.create("killed"), tmp_path_factory.mktemp("checkpoints")
    load = Resending()
    with serving(**_settings(url, tmp_path, elsewhere)) as service, load.writing(service.url):
        for _ in range(3):
            load.wait_for(acknowledged=10)
            _kill_a_process_of_the_server(url)
            load.wait_for(trouble=1)
            load.wait_for(acknowledged=10)
        load.finish()
        assert service.terminate()[0] == 0
    assert load.unanswered == 0
    check_record(url, load.acknowledged)
    check_verified(url, tmp_path, elsewhere)


def test_connections_that_the_server_ends_during_commits_lose_and_double_nothing(
    own_cluster: PostgresCluster, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url, elsewhere = own_cluster.create("ended"), tmp_path_factory.mktemp("checkpoints")
    load = Resending()
    with (
        serving(**_settings(url, tmp_path, elsewhere)) as service,
        load.writing(service.url),
        psycopg.connect(url, autocommit=True) as other,
    ):
        load.wait_for(acknowledged=5)

        def end_what_is_busy() -> bool:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state <> 'idle' "
                "AND datname = current_database() AND pid <> pg_backend_pid()"
            )
            return load.refused >= 30

        wait_until(end_what_is_busy)
        load.wait_for(acknowledged=5)
        load.finish()
        assert service.terminate()[0] == 0
    assert load.unanswered == 0
    check_record(url, load.acknowledged)
    check_verified(url, tmp_path, elsewhere)
