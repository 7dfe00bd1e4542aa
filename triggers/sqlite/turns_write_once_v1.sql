-- turns is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.
-- The one exception: payload and salt go, and nothing else changes, once a tombstone names the row.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER turns_refuse_replace BEFORE INSERT ON turns
WHEN EXISTS (
    SELECT 1 FROM turns WHERE agent_id = NEW.agent_id AND turn_id = NEW.turn_id
  )
  OR EXISTS (
    SELECT 1 FROM turns WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: turns');
END;

CREATE TRIGGER turns_refuse_update BEFORE UPDATE ON turns
WHEN NOT (
    NEW.payload IS NULL
    AND NEW.payload_salt IS NULL
    AND NEW.rowid IS OLD.rowid
    AND NEW.agent_id IS OLD.agent_id
    AND NEW.turn_id IS OLD.turn_id
    AND NEW.log IS OLD.log
    AND NEW.seq IS OLD.seq
    AND NEW.ts IS OLD.ts
    AND NEW.received_at IS OLD.received_at
    AND NEW.session_id IS OLD.session_id
    AND NEW.worker IS OLD.worker
    AND NEW.model IS OLD.model
    AND NEW.commit_sha IS OLD.commit_sha
    AND NEW.input_tokens IS OLD.input_tokens
    AND NEW.output_tokens IS OLD.output_tokens
    AND NEW.cost_usd IS OLD.cost_usd
    AND NEW.latency_ms IS OLD.latency_ms
    AND NEW.flags IS OLD.flags
    AND NEW.leaf_hash IS OLD.leaf_hash
    AND NEW.seal IS OLD.seal
    AND EXISTS (
      SELECT 1 FROM redactions
      WHERE agent_id = OLD.agent_id AND target_log = OLD.log AND target_seq = OLD.seq
        AND target_table = 'turns'
    )
  )
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'turns', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'turn_id', OLD.turn_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'turn_id', NEW.turn_id WHERE NEW.turn_id IS NOT OLD.turn_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'ts', NEW.ts WHERE NEW.ts IS NOT OLD.ts
        UNION ALL SELECT 'received_at', NEW.received_at WHERE NEW.received_at IS NOT OLD.received_at
        UNION ALL SELECT 'session_id', NEW.session_id WHERE NEW.session_id IS NOT OLD.session_id
        UNION ALL SELECT 'worker', NEW.worker WHERE NEW.worker IS NOT OLD.worker
        UNION ALL SELECT 'model', NEW.model WHERE NEW.model IS NOT OLD.model
        UNION ALL SELECT 'commit_sha', NEW.commit_sha WHERE NEW.commit_sha IS NOT OLD.commit_sha
        UNION ALL SELECT 'payload', NEW.payload WHERE NEW.payload IS NOT OLD.payload
        UNION ALL SELECT 'payload_salt', hex(NEW.payload_salt) WHERE NEW.payload_salt IS NOT OLD.payload_salt
        UNION ALL SELECT 'input_tokens', NEW.input_tokens WHERE NEW.input_tokens IS NOT OLD.input_tokens
        UNION ALL SELECT 'output_tokens', NEW.output_tokens WHERE NEW.output_tokens IS NOT OLD.output_tokens
        UNION ALL SELECT 'cost_usd', NEW.cost_usd WHERE NEW.cost_usd IS NOT OLD.cost_usd
        UNION ALL SELECT 'latency_ms', NEW.latency_ms WHERE NEW.latency_ms IS NOT OLD.latency_ms
        UNION ALL SELECT 'flags', NEW.flags WHERE NEW.flags IS NOT OLD.flags
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: turns refuses UPDATE');
END;

CREATE TRIGGER turns_refuse_delete BEFORE DELETE ON turns
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'turns', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'turn_id', OLD.turn_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: turns refuses DELETE');
END;
