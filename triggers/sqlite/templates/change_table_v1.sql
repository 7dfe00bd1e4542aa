-- The change table, where a database does not have Doxa's own.
CREATE TABLE IF NOT EXISTS ledger_changes (
  change_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  at INTEGER NOT NULL,
  table_name TEXT NOT NULL,
  op TEXT NOT NULL,
  refused INTEGER NOT NULL,
  row_key TEXT NOT NULL,
  old_row TEXT,
  new_row TEXT
) STRICT;
