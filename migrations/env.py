"""Alembic's entry: runs the revisions on the connection that `service.db.schema` hands over."""

from alembic import context

from service.models import Record


def run() -> None:
    """Runs all revisions in the caller's transaction; SQLite's DDL is transactional, too."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Record.metadata,
        transactional_ddl=True,
        transaction_per_migration=False,
        render_as_batch=False,
        compare_type=True,
    )
    context.run_migrations()


run()
