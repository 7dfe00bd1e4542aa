-- audited_turns is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER audited_turns_refuse_replace BEFORE INSERT ON audited_turns
WHEN EXISTS (
    SELECT 1 FROM audited_turns WHERE agent_id = NEW.agent_id AND turn_id = NEW.turn_id
  )
  OR EXISTS (
    SELECT 1 FROM audited_turns WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: audited_turns');
END;

CREATE TRIGGER audited_turns_refuse_update BEFORE UPDATE ON audited_turns
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'audited_turns', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'turn_id', OLD.turn_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'turn_id', NEW.turn_id WHERE NEW.turn_id IS NOT OLD.turn_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'run_id', NEW.run_id WHERE NEW.run_id IS NOT OLD.run_id
        UNION ALL SELECT 'ts', NEW.ts WHERE NEW.ts IS NOT OLD.ts
        UNION ALL SELECT 'audited_at', NEW.audited_at WHERE NEW.audited_at IS NOT OLD.audited_at
        UNION ALL SELECT 'session_id', NEW.session_id WHERE NEW.session_id IS NOT OLD.session_id
        UNION ALL SELECT 'worker', NEW.worker WHERE NEW.worker IS NOT OLD.worker
        UNION ALL SELECT 'model', NEW.model WHERE NEW.model IS NOT OLD.model
        UNION ALL SELECT 'commit_sha', NEW.commit_sha WHERE NEW.commit_sha IS NOT OLD.commit_sha
        UNION ALL SELECT 'stratum', NEW.stratum WHERE NEW.stratum IS NOT OLD.stratum
        UNION ALL SELECT 'stratum_population', NEW.stratum_population WHERE NEW.stratum_population IS NOT OLD.stratum_population
        UNION ALL SELECT 'stratum_sample', NEW.stratum_sample WHERE NEW.stratum_sample IS NOT OLD.stratum_sample
        UNION ALL SELECT 'state', NEW.state WHERE NEW.state IS NOT OLD.state
        UNION ALL SELECT 'reason', NEW.reason WHERE NEW.reason IS NOT OLD.reason
        UNION ALL SELECT 'sentences', NEW.sentences WHERE NEW.sentences IS NOT OLD.sentences
        UNION ALL SELECT 'claims', NEW.claims WHERE NEW.claims IS NOT OLD.claims
        UNION ALL SELECT 'counts', NEW.counts WHERE NEW.counts IS NOT OLD.counts
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: audited_turns refuses UPDATE');
END;

CREATE TRIGGER audited_turns_refuse_delete BEFORE DELETE ON audited_turns
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'audited_turns', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'turn_id', OLD.turn_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: audited_turns refuses DELETE');
END;
