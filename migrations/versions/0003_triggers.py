"""Write-once rows are refused any change by the database itself."""

from alembic import op

import triggers

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in triggers.tables():
        triggers.install(op.get_bind(), table)


def downgrade() -> None:
    for table in reversed(triggers.tables()):
        triggers.remove(op.get_bind(), table)
    triggers.remove_functions(op.get_bind())
