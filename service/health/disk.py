"""How full the disk is, and how much of it the database takes."""

import shutil
from collections.abc import Callable
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service.errors import ConfigurationError, LedgerError


def disk_of(folder: Path) -> dict[str, float]:
    """Free and total bytes and the share that is used, of the disk of a folder; empty without."""
    if not folder.exists():
        return {}
    usage = shutil.disk_usage(folder)
    return {
        "disk_free_bytes": usage.free,
        "disk_total_bytes": usage.total,
        "disk_used_share": round(1 - usage.free / usage.total, 4) if usage.total else 1.0,
    }


class DiskCollector(Collector):
    """The same for Prometheus, with the size of the database."""

    def __init__(self, folder: Path, stored_bytes: Callable[[], int]) -> None:
        self._folder, self._stored_bytes = folder, stored_bytes

    def collect(self) -> list[Metric]:
        """The bytes at this moment; what cannot be asked just now is left out."""
        found: list[Metric] = []
        if disk := disk_of(self._folder):
            free, total = disk["disk_free_bytes"], disk["disk_total_bytes"]
            found += [
                GaugeMetricFamily("doxa_disk_free_bytes", "Free on the data folder's disk.", free),
                GaugeMetricFamily("doxa_disk_total_bytes", "Size of that disk.", total),
            ]
        try:
            size = self._stored_bytes()
        except (ConfigurationError, LedgerError, OSError):
            return found
        return [*found, GaugeMetricFamily("doxa_database_bytes", "Size of the database.", size)]
