"""The HTTP server, in the foreground or inside another command."""

import gc
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from service.api.ingest_path import Doxa
from service.db import schema
from service.db.opening import open_database
from service.errors import ConfigurationError
from service.events.log import adopt_logs
from service.settings import Settings

START_SECONDS = 30.0
# The writer gives the interpreter lock up at each call into the database and must get it back from
# a busy event loop: at the default of 5 ms a commit spent most of its time waiting for that.
SWITCH_SECONDS = 0.0005
# A batch of a thousand events is tens of thousands of containers, none of them in a cycle: at the
# default thresholds the collector took a third of the time it takes to read a batch.
COLLECTOR_THRESHOLDS = (100_000, 10, 50)


class DoxaServer(uvicorn.Server):
    """uvicorn, telling open streams to end before it waits for them."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """On SIGTERM or SIGINT; uvicorn would raise the signal again after a clean stop."""
        self._end_streams()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    def stop(self) -> None:
        """The same from another thread."""
        self._end_streams()
        self.should_exit = True

    def _end_streams(self) -> None:
        app = self.config.app
        if isinstance(app, Doxa):
            app.state.doxa.stopping.requested = True


def tune_interpreter() -> None:
    """Sets this process up for serving, for good: what exists now is never collected."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    gc.freeze()


def make_server(app: FastAPI, settings: Settings) -> DoxaServer:
    """A server for the app; sockets are bound by `bind`, so that a taken port is explained."""
    return DoxaServer(
        uvicorn.Config(
            app,
            http="httptools",
            loop="auto",
            access_log=False,
            log_level="warning",
            server_header=False,
            # Behind a proxy the scheme and the client come from its headers only if asked for.
            proxy_headers=False,
            timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
        )
    )


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; ConfigurationError says what to do about a taken port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as problem:
        listener.close()
        raise ConfigurationError(
            f"Cannot listen on {host}:{port} ({problem.strerror}): choose another with --port, "
            "or DOXA_PORT=8001."
        ) from None
    listener.listen(2048)
    return listener


def prepare_database(settings: Settings) -> None:
    """Creates and migrates the database; ConfigurationError says what stands in the way."""
    database = open_database(settings)
    try:
        schema.migrate(
            database.writing, adopt=lambda connection: adopt_logs(connection, database.sealer)
        )
    finally:
        database.close()


@contextmanager
def serving_in_background(
    app: FastAPI, settings: Settings, listener: socket.socket | None = None
) -> Iterator[str]:
    """Serves on a socket, or a free loopback port, while the block runs; yields its URL."""
    listener = listener or bind("127.0.0.1", 0)
    server = make_server(app, settings)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    if not server.started:
        raise ConfigurationError("The service did not start.")
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.stop()
        thread.join(settings.shutdown_seconds + 5)
        listener.close()
