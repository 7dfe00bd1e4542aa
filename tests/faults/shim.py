"""A shim between SQLite and the system that fails calls on the database's files while told to.

Loaded by LD_PRELOAD into a child. While the trigger file exists, `FAULT CALLS EVERY` in it say how
(`EIO` or `ENOSPC` as a number), which calls (`w` writes, `s` syncs, `r` reads) and each how many-th
of them fail; every failure leaves a line in the log file, so that a test can tell that it happened.
"""

import errno
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned long seen = 0;

static int is_to_fail(int fd, char call) {
  const char *trigger = getenv("FAULT_TRIGGER"), *log = getenv("FAULT_LOG");
  char text[64] = {0}, link[64], name[4096] = {0}, calls[8] = {0};
  int number = 0, told, kept = errno;
  unsigned long every = 0;
  if (!trigger || !log) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, name, sizeof name - 1) < 0 || !strstr(name, "/doxa.db")) goto no;
  if ((told = open(trigger, O_RDONLY)) < 0) goto no;
  syscall(SYS_read, told, text, sizeof text - 1);
  close(told);
  if (sscanf(text, "%d %7s %lu", &number, calls, &every) != 3 || !every) goto no;
  if (!strchr(calls, call) || __sync_add_and_fetch(&seen, 1) % every) goto no;
  if ((told = open(log, O_WRONLY | O_APPEND | O_CREAT, 0644)) >= 0) {
    int length = snprintf(text, sizeof text, "%c %d\n", call, number);
    syscall(SYS_write, told, text, length);
    close(told);
  }
  errno = number;
  return 1;
no:
  errno = kept;
  return 0;
}

int fsync(int fd) { return is_to_fail(fd, 's') ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return is_to_fail(fd, 's') ? -1 : (int)syscall(SYS_fdatasync, fd); }
ssize_t write(int fd, const void *from, size_t count) {
  return is_to_fail(fd, 'w') ? -1 : syscall(SYS_write, fd, from, count);
}
ssize_t pwrite64(int fd, const void *from, size_t count, off64_t place) {
  return is_to_fail(fd, 'w') ? -1 : syscall(SYS_pwrite64, fd, from, count, place);
}
ssize_t pwrite(int fd, const void *from, size_t count, off_t place) {
  return pwrite64(fd, from, count, place);
}
ssize_t read(int fd, void *to, size_t count) {
  return is_to_fail(fd, 'r') ? -1 : syscall(SYS_read, fd, to, count);
}
ssize_t pread64(int fd, void *to, size_t count, off64_t place) {
  return is_to_fail(fd, 'r') ? -1 : syscall(SYS_pread64, fd, to, count, place);
}
ssize_t pread(int fd, void *to, size_t count, off_t place) {
  return pread64(fd, to, count, place);
}
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """What fails: which calls, with which error, and each how many-th."""

    calls: str
    error: int = errno.EIO
    every: int = 1


@dataclass(frozen=True, slots=True)
class Shim:
    """A built shim, and the files by which it is told and tells."""

    library: Path
    trigger: Path
    log: Path

    @property
    def variables(self) -> dict[str, str]:
        """The environment that puts it into a child."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAULT_TRIGGER": str(self.trigger),
            "FAULT_LOG": str(self.log),
        }

    def start(self, fault: Fault) -> None:
        """From now on calls fail."""
        told = self.trigger.with_suffix(".new")
        told.write_text(f"{fault.error} {fault.calls} {fault.every}\n")
        told.rename(self.trigger)

    def stop(self) -> None:
        """From now on none does."""
        self.trigger.unlink(missing_ok=True)

    def fired(self) -> int:
        """How many calls have failed."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


def compiler() -> str | None:
    """The C compiler of this machine."""
    return shutil.which("cc") or shutil.which("gcc")


def build(folder: Path, command: str) -> Path:
    """Compiles the shim."""
    source, library = folder / "faults.c", folder / "faults.so"
    source.write_text(SOURCE)
    subprocess.run(
        [command, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"],
        check=True,
        capture_output=True,
    )
    return library
