from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from service.db.database import Database
from service.errors import ConfigurationError, Unavailable
from service.settings import Settings
from service.trust.keys import SEAL_KEY_FILE, seal_key, seal_key_in

_SEALED = "SELECT 1 FROM log_heads WHERE seal IS NOT NULL LIMIT 1"


def open_database(settings: Settings) -> Database:
    """The database of these settings, with the key to write to the record.

    The key is made with a new database. Raises ConfigurationError where a sealed one lacks it: with
    another key its rows would look like a stranger's.
    """
    url, folder = settings.resolved_database_url, settings.resolved_key_dir
    key = seal_key_in(folder)
    if key is None and _is_sealed(url):
        raise ConfigurationError(
            f"This database is sealed and {folder / SEAL_KEY_FILE} is missing: put the key folder "
            "of this database there, or name it with DOXA_KEY_DIR. No key was made."
        )
    return Database(url, key or seal_key(folder))


def _is_sealed(url: str) -> bool:
    database = Database(url)
    try:
        with database.read() as session:
            return session.execute(text(_SEALED)).first() is not None
    except (DBAPIError, Unavailable):
        return False  # there is none yet, or one of before there were seals
    finally:
        database.close()
