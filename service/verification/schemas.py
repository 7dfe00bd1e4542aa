import msgspec


class CheckpointOut(msgspec.Struct):
    """A signed note: how long the log was, and the root of its tree there, in hex."""

    size: int
    root: str


class LogStateOut(msgspec.Struct):
    """One log as its head says, the newest checkpoint of it, and why there are no more of them."""

    log: str
    size: int
    root: str | None
    is_sealed: bool
    checkpoint: CheckpointOut | None
    alarm: str | None


class ChainStateOut(msgspec.Struct):
    """The state of an agent's two logs now; only `doxa verify` reads every row again."""

    agent_id: str
    holds: bool
    anchored: bool
    logs: list[LogStateOut]
    triggers: list[str]
    checkpoint_problem: str | None
