-- inference_contexts is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER inference_contexts_refuse_replace BEFORE INSERT ON inference_contexts
WHEN EXISTS (
    SELECT 1 FROM inference_contexts WHERE agent_id = NEW.agent_id AND context_id = NEW.context_id
  )
  OR EXISTS (
    SELECT 1 FROM inference_contexts WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: inference_contexts');
END;

CREATE TRIGGER inference_contexts_refuse_update BEFORE UPDATE ON inference_contexts
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'inference_contexts', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'context_id', OLD.context_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'context_id', NEW.context_id WHERE NEW.context_id IS NOT OLD.context_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'shadow_id', NEW.shadow_id WHERE NEW.shadow_id IS NOT OLD.shadow_id
        UNION ALL SELECT 'kind', NEW.kind WHERE NEW.kind IS NOT OLD.kind
        UNION ALL SELECT 'recorded_at', NEW.recorded_at WHERE NEW.recorded_at IS NOT OLD.recorded_at
        UNION ALL SELECT 'session_id', NEW.session_id WHERE NEW.session_id IS NOT OLD.session_id
        UNION ALL SELECT 'turn_id', NEW.turn_id WHERE NEW.turn_id IS NOT OLD.turn_id
        UNION ALL SELECT 'commit_sha', NEW.commit_sha WHERE NEW.commit_sha IS NOT OLD.commit_sha
        UNION ALL SELECT 'evidence', NEW.evidence WHERE NEW.evidence IS NOT OLD.evidence
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: inference_contexts refuses UPDATE');
END;

CREATE TRIGGER inference_contexts_refuse_delete BEFORE DELETE ON inference_contexts
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'inference_contexts', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'context_id', OLD.context_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: inference_contexts refuses DELETE');
END;
