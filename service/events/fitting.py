"""Whether the key at hand is the one that sealed the record."""

from sqlalchemy import select

from service.db.database import Database
from service.errors import ConfigurationError
from service.models import CogEvent, LogHead

# One seal that holds is proof; a few may have been tampered with.
_LOOKED_AT = 50


def check_key(database: Database) -> None:
    """Raises ConfigurationError when the record was sealed and no seal is of this key."""
    sealer = database.sealer
    if sealer is None:
        return
    with database.read() as session:
        heads = session.execute(
            select(
                LogHead.agent_id, LogHead.log, LogHead.size, LogHead.frontier,
                LogHead.unsealed_until, LogHead.seal,
            ).where(LogHead.seal.is_not(None)).limit(_LOOKED_AT)
        ).all()  # fmt: skip
        if not heads or any(
            seal == sealer.seal_head(agent_id, log, size, frontier or b"", unsealed_until or 0)
            for agent_id, log, size, frontier, unsealed_until, seal in heads
        ):
            return
        rows = session.execute(
            select(CogEvent.seal, CogEvent.leaf_hash)
            .where(CogEvent.agent_id == heads[0].agent_id, CogEvent.seal.is_not(None))
            .order_by(CogEvent.log, CogEvent.seq.desc())
            .limit(_LOOKED_AT)
        ).all()
    if not any(sealer.holds(seal, leaf_hash or b"") for seal, leaf_hash in rows):
        raise ConfigurationError(
            "This database was sealed under another key than the one in the key folder: set "
            "DOXA_KEY_DIR to the folder that was used with it, or restore its seal.key there."
        )
