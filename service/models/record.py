from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase


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
