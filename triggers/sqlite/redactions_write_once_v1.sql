-- redactions is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER redactions_refuse_replace BEFORE INSERT ON redactions
WHEN EXISTS (
    SELECT 1 FROM redactions WHERE agent_id = NEW.agent_id AND target_log = NEW.target_log AND target_seq = NEW.target_seq
  )
  OR EXISTS (
    SELECT 1 FROM redactions WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: redactions');
END;

CREATE TRIGGER redactions_refuse_update BEFORE UPDATE ON redactions
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'redactions', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'target_log', OLD.target_log, 'target_seq', OLD.target_seq, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'target_log', NEW.target_log WHERE NEW.target_log IS NOT OLD.target_log
        UNION ALL SELECT 'target_seq', NEW.target_seq WHERE NEW.target_seq IS NOT OLD.target_seq
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'target_table', NEW.target_table WHERE NEW.target_table IS NOT OLD.target_table
        UNION ALL SELECT 'payload_hash', hex(NEW.payload_hash) WHERE NEW.payload_hash IS NOT OLD.payload_hash
        UNION ALL SELECT 'payload_bytes', NEW.payload_bytes WHERE NEW.payload_bytes IS NOT OLD.payload_bytes
        UNION ALL SELECT 'reason', NEW.reason WHERE NEW.reason IS NOT OLD.reason
        UNION ALL SELECT 'removed_by', NEW.removed_by WHERE NEW.removed_by IS NOT OLD.removed_by
        UNION ALL SELECT 'removed_at', NEW.removed_at WHERE NEW.removed_at IS NOT OLD.removed_at
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: redactions refuses UPDATE');
END;

CREATE TRIGGER redactions_refuse_delete BEFORE DELETE ON redactions
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'redactions', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'target_log', OLD.target_log, 'target_seq', OLD.target_seq, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: redactions refuses DELETE');
END;
