-- hand_check_verdicts is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER hand_check_verdicts_refuse_replace BEFORE INSERT ON hand_check_verdicts
WHEN EXISTS (
    SELECT 1 FROM hand_check_verdicts WHERE agent_id = NEW.agent_id AND verdict_id = NEW.verdict_id
  )
  OR EXISTS (
    SELECT 1 FROM hand_check_verdicts WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: hand_check_verdicts');
END;

CREATE TRIGGER hand_check_verdicts_refuse_update BEFORE UPDATE ON hand_check_verdicts
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'hand_check_verdicts', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'verdict_id', OLD.verdict_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'verdict_id', NEW.verdict_id WHERE NEW.verdict_id IS NOT OLD.verdict_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'check_id', NEW.check_id WHERE NEW.check_id IS NOT OLD.check_id
        UNION ALL SELECT 'kind', NEW.kind WHERE NEW.kind IS NOT OLD.kind
        UNION ALL SELECT 'subject_id', NEW.subject_id WHERE NEW.subject_id IS NOT OLD.subject_id
        UNION ALL SELECT 'verdict', NEW.verdict WHERE NEW.verdict IS NOT OLD.verdict
        UNION ALL SELECT 'note', NEW.note WHERE NEW.note IS NOT OLD.note
        UNION ALL SELECT 'decided_by', NEW.decided_by WHERE NEW.decided_by IS NOT OLD.decided_by
        UNION ALL SELECT 'decided_at', NEW.decided_at WHERE NEW.decided_at IS NOT OLD.decided_at
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: hand_check_verdicts refuses UPDATE');
END;

CREATE TRIGGER hand_check_verdicts_refuse_delete BEFORE DELETE ON hand_check_verdicts
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'hand_check_verdicts', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'verdict_id', OLD.verdict_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: hand_check_verdicts refuses DELETE');
END;
