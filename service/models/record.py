from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from service.db.types import BYTES


class Record(DeclarativeBase):
    """What all tables share: one metadata, constraint names that refusals are translated by."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


STRICT = {"sqlite_strict": True}


class Committed:
    """A write-once row to which its log's Merkle tree commits.

    `leaf_hash` is the SHA-256 leaf of the row, `seal` the HMAC of that under a key that only the
    service holds. Rows written before Doxa hashed rows have neither.
    """

    leaf_hash: Mapped[bytes | None] = mapped_column(BYTES, sort_order=1)
    seal: Mapped[bytes | None] = mapped_column(BYTES, sort_order=2)
