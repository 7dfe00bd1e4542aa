-- belief_versions is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER belief_versions_refuse_replace BEFORE INSERT ON belief_versions
WHEN EXISTS (
    SELECT 1 FROM belief_versions WHERE agent_id = NEW.agent_id AND belief_id = NEW.belief_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: belief_versions');
END;

CREATE TRIGGER belief_versions_refuse_update BEFORE UPDATE ON belief_versions
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'belief_versions', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'belief_id', OLD.belief_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'belief_id', NEW.belief_id WHERE NEW.belief_id IS NOT OLD.belief_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'ts', NEW.ts WHERE NEW.ts IS NOT OLD.ts
        UNION ALL SELECT 'kind', NEW.kind WHERE NEW.kind IS NOT OLD.kind
        UNION ALL SELECT 'content', NEW.content WHERE NEW.content IS NOT OLD.content
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: belief_versions refuses UPDATE');
END;

CREATE TRIGGER belief_versions_refuse_delete BEFORE DELETE ON belief_versions
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'belief_versions', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'belief_id', OLD.belief_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: belief_versions refuses DELETE');
END;
