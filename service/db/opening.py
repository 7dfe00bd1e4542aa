from service.db.database import Database
from service.settings import Settings
from service.trust.keys import seal_key


def open_database(settings: Settings) -> Database:
    """The database of these settings, with the key to write to the record."""
    return Database(settings.resolved_database_url, seal_key(settings.resolved_key_dir))
