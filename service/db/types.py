"""Column types that mean the same on both databases (SQLite tables are STRICT)."""

from sqlalchemy import BigInteger, Double, Integer, LargeBinary, Text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

# COLLATE "C": keys sort by code point on both, whatever the server's locale.
KEY = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
TEXT = Text()
# JSON is kept as the text that was made of it once: PostgreSQL's JSONB would refuse U+0000,
# reorder keys and change numbers, and a hash over the row must find the same bytes on both.
JSON_TEXT = Text()
WHOLE = BigInteger().with_variant(Integer(), "sqlite")
INSTANT = WHOLE  # microseconds since 1970 UTC (service.instants)
REAL: TypeEngine[float] = Double().with_variant(sqlite.REAL(), "sqlite")
TRUTH = Integer()  # 0 or 1: STRICT tables know no boolean
BYTES = LargeBinary()
