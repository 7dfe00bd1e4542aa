-- inference_resolutions is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER inference_resolutions_refuse_replace BEFORE INSERT ON inference_resolutions
WHEN EXISTS (
    SELECT 1 FROM inference_resolutions WHERE agent_id = NEW.agent_id AND resolution_id = NEW.resolution_id
  )
  OR EXISTS (
    SELECT 1 FROM inference_resolutions WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: inference_resolutions');
END;

CREATE TRIGGER inference_resolutions_refuse_update BEFORE UPDATE ON inference_resolutions
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'inference_resolutions', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'resolution_id', OLD.resolution_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'resolution_id', NEW.resolution_id WHERE NEW.resolution_id IS NOT OLD.resolution_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'shadow_id', NEW.shadow_id WHERE NEW.shadow_id IS NOT OLD.shadow_id
        UNION ALL SELECT 'source', NEW.source WHERE NEW.source IS NOT OLD.source
        UNION ALL SELECT 'outcome', NEW.outcome WHERE NEW.outcome IS NOT OLD.outcome
        UNION ALL SELECT 'evidence', NEW.evidence WHERE NEW.evidence IS NOT OLD.evidence
        UNION ALL SELECT 'resolved_at', NEW.resolved_at WHERE NEW.resolved_at IS NOT OLD.resolved_at
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: inference_resolutions refuses UPDATE');
END;

CREATE TRIGGER inference_resolutions_refuse_delete BEFORE DELETE ON inference_resolutions
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'inference_resolutions', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'resolution_id', OLD.resolution_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: inference_resolutions refuses DELETE');
END;
