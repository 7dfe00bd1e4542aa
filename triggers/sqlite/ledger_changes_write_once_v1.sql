-- The change table numbers its rows itself and only grows. FAIL, not ABORT: that would undo the note.
-- Nothing is inserted under a number of the writer's choice, so nothing can be replaced.

CREATE TRIGGER ledger_changes_refuse_replace BEFORE INSERT ON ledger_changes
WHEN NEW.change_id <> -1
BEGIN
  SELECT RAISE(FAIL, 'write-once: ledger_changes numbers its rows itself');
END;

CREATE TRIGGER ledger_changes_refuse_update BEFORE UPDATE ON ledger_changes
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'ledger_changes', 'update', 1,
    json_object('change_id', OLD.change_id),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'change_id' AS name, NEW.change_id AS value WHERE NEW.change_id IS NOT OLD.change_id
        UNION ALL SELECT 'at', NEW.at WHERE NEW.at IS NOT OLD.at
        UNION ALL SELECT 'table_name', NEW.table_name WHERE NEW.table_name IS NOT OLD.table_name
        UNION ALL SELECT 'op', NEW.op WHERE NEW.op IS NOT OLD.op
        UNION ALL SELECT 'refused', NEW.refused WHERE NEW.refused IS NOT OLD.refused
        UNION ALL SELECT 'row_key', NEW.row_key WHERE NEW.row_key IS NOT OLD.row_key
        UNION ALL SELECT 'old_row', NEW.old_row WHERE NEW.old_row IS NOT OLD.old_row
        UNION ALL SELECT 'new_row', NEW.new_row WHERE NEW.new_row IS NOT OLD.new_row
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: ledger_changes refuses UPDATE');
END;

CREATE TRIGGER ledger_changes_refuse_delete BEFORE DELETE ON ledger_changes
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'ledger_changes', 'delete', 1,
    json_object('change_id', OLD.change_id),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: ledger_changes refuses DELETE');
END;
