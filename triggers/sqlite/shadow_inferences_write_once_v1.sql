-- shadow_inferences is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER shadow_inferences_refuse_replace BEFORE INSERT ON shadow_inferences
WHEN EXISTS (
    SELECT 1 FROM shadow_inferences WHERE agent_id = NEW.agent_id AND shadow_id = NEW.shadow_id
  )
  OR EXISTS (
    SELECT 1 FROM shadow_inferences WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: shadow_inferences');
END;

CREATE TRIGGER shadow_inferences_refuse_update BEFORE UPDATE ON shadow_inferences
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'shadow_inferences', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'shadow_id', OLD.shadow_id, 'log', OLD.log, 'seq', OLD.seq, 'belief_id', OLD.belief_id),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'shadow_id', NEW.shadow_id WHERE NEW.shadow_id IS NOT OLD.shadow_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'source', NEW.source WHERE NEW.source IS NOT OLD.source
        UNION ALL SELECT 'event_id', NEW.event_id WHERE NEW.event_id IS NOT OLD.event_id
        UNION ALL SELECT 'ts', NEW.ts WHERE NEW.ts IS NOT OLD.ts
        UNION ALL SELECT 'recorded_at', NEW.recorded_at WHERE NEW.recorded_at IS NOT OLD.recorded_at
        UNION ALL SELECT 'session_id', NEW.session_id WHERE NEW.session_id IS NOT OLD.session_id
        UNION ALL SELECT 'turn_id', NEW.turn_id WHERE NEW.turn_id IS NOT OLD.turn_id
        UNION ALL SELECT 'worker', NEW.worker WHERE NEW.worker IS NOT OLD.worker
        UNION ALL SELECT 'belief_id', NEW.belief_id WHERE NEW.belief_id IS NOT OLD.belief_id
        UNION ALL SELECT 'statement', NEW.statement WHERE NEW.statement IS NOT OLD.statement
        UNION ALL SELECT 'category', NEW.category WHERE NEW.category IS NOT OLD.category
        UNION ALL SELECT 'label', NEW.label WHERE NEW.label IS NOT OLD.label
        UNION ALL SELECT 'confidence', NEW.confidence WHERE NEW.confidence IS NOT OLD.confidence
        UNION ALL SELECT 'evidence', NEW.evidence WHERE NEW.evidence IS NOT OLD.evidence
        UNION ALL SELECT 'alternatives', NEW.alternatives WHERE NEW.alternatives IS NOT OLD.alternatives
        UNION ALL SELECT 'gate_decision', NEW.gate_decision WHERE NEW.gate_decision IS NOT OLD.gate_decision
        UNION ALL SELECT 'commit_sha', NEW.commit_sha WHERE NEW.commit_sha IS NOT OLD.commit_sha
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: shadow_inferences refuses UPDATE');
END;

CREATE TRIGGER shadow_inferences_refuse_delete BEFORE DELETE ON shadow_inferences
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'shadow_inferences', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'shadow_id', OLD.shadow_id, 'log', OLD.log, 'seq', OLD.seq, 'belief_id', OLD.belief_id),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: shadow_inferences refuses DELETE');
END;
