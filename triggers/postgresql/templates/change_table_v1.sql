-- The change table, where a database does not have Doxa's own.
CREATE TABLE IF NOT EXISTS ledger_changes (
  change_id bigserial PRIMARY KEY,
  at bigint NOT NULL,
  table_name text COLLATE "C" NOT NULL,
  op text COLLATE "C" NOT NULL,
  refused integer NOT NULL,
  row_key text NOT NULL,
  old_row text,
  new_row text
);
