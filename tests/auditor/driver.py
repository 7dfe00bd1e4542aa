"""A process that audits one day: `python -m tests.auditor.driver URL DAY AHEAD_S PAUSE_S SAMPLE`.

Its clock is `AHEAD_S` ahead; it waits for a line on standard input before it begins, says each
turn that it is judging, and then pauses, so that a kill can hit between judging and storing.
Exit code 0 when the run ended, 3 when another process was at it.
"""

import sys
import time
from datetime import date

from auditor.method import BUILTIN, BUILTIN_VERSION, Method
from auditor.run import Auditor, RunBusyError, RunOptions
from auditor.text.judge import JudgedClaim, SessionJudge
from service.db.opening import open_database
from service.settings import Settings
from tests.auditor.recording import AGENT


def main() -> int:
    url, day, ahead, pause, sample = sys.argv[1:]

    class SlowJudge(SessionJudge):
        def judge(self, output: str) -> list[JudgedClaim]:
            claims = super().judge(output)
            sys.stdout.write("judging\n")
            sys.stdout.flush()
            time.sleep(float(pause))
            return claims

    def clock() -> int:
        return time.time_ns() // 1_000 + int(ahead) * 1_000_000

    database = open_database(Settings(database_url=url))
    auditor = Auditor(database, Method(BUILTIN, BUILTIN_VERSION, SlowJudge), clock, 50)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    try:
        auditor.audit_day(AGENT, date.fromisoformat(day), RunOptions(int(sample)))
    except RunBusyError:
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
