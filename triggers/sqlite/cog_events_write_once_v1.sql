-- cog_events is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.
-- The one exception: payload and salt go, and nothing else changes, once a tombstone names the row.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER cog_events_refuse_replace BEFORE INSERT ON cog_events
WHEN EXISTS (
    SELECT 1 FROM cog_events WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR EXISTS (
    SELECT 1 FROM cog_events WHERE agent_id = NEW.agent_id AND log = NEW.log AND event_id = NEW.event_id
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: cog_events');
END;

CREATE TRIGGER cog_events_refuse_update BEFORE UPDATE ON cog_events
WHEN NOT (
    NEW.detail IS NULL
    AND NEW.detail_salt IS NULL
    AND NEW.rowid IS OLD.rowid
    AND NEW.agent_id IS OLD.agent_id
    AND NEW.log IS OLD.log
    AND NEW.seq IS OLD.seq
    AND NEW.event_id IS OLD.event_id
    AND NEW.ts IS OLD.ts
    AND NEW.received_at IS OLD.received_at
    AND NEW.session_id IS OLD.session_id
    AND NEW.turn_id IS OLD.turn_id
    AND NEW.worker IS OLD.worker
    AND NEW.event IS OLD.event
    AND NEW.belief_id IS OLD.belief_id
    AND NEW.contradiction_id IS OLD.contradiction_id
    AND NEW.label_from IS OLD.label_from
    AND NEW.label_to IS OLD.label_to
    AND NEW.confidence IS OLD.confidence
    AND NEW.cost_tokens IS OLD.cost_tokens
    AND NEW.cost_usd IS OLD.cost_usd
    AND NEW.latency_ms IS OLD.latency_ms
    AND NEW.flags IS OLD.flags
    AND NEW.leaf_hash IS OLD.leaf_hash
    AND NEW.seal IS OLD.seal
    AND EXISTS (
      SELECT 1 FROM redactions
      WHERE agent_id = OLD.agent_id AND target_log = OLD.log AND target_seq = OLD.seq
        AND target_table = 'cog_events'
    )
  )
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'cog_events', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'log', OLD.log, 'seq', OLD.seq, 'belief_id', OLD.belief_id),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'event_id', NEW.event_id WHERE NEW.event_id IS NOT OLD.event_id
        UNION ALL SELECT 'ts', NEW.ts WHERE NEW.ts IS NOT OLD.ts
        UNION ALL SELECT 'received_at', NEW.received_at WHERE NEW.received_at IS NOT OLD.received_at
        UNION ALL SELECT 'session_id', NEW.session_id WHERE NEW.session_id IS NOT OLD.session_id
        UNION ALL SELECT 'turn_id', NEW.turn_id WHERE NEW.turn_id IS NOT OLD.turn_id
        UNION ALL SELECT 'worker', NEW.worker WHERE NEW.worker IS NOT OLD.worker
        UNION ALL SELECT 'event', NEW.event WHERE NEW.event IS NOT OLD.event
        UNION ALL SELECT 'belief_id', NEW.belief_id WHERE NEW.belief_id IS NOT OLD.belief_id
        UNION ALL SELECT 'contradiction_id', NEW.contradiction_id WHERE NEW.contradiction_id IS NOT OLD.contradiction_id
        UNION ALL SELECT 'label_from', NEW.label_from WHERE NEW.label_from IS NOT OLD.label_from
        UNION ALL SELECT 'label_to', NEW.label_to WHERE NEW.label_to IS NOT OLD.label_to
        UNION ALL SELECT 'confidence', NEW.confidence WHERE NEW.confidence IS NOT OLD.confidence
        UNION ALL SELECT 'detail', NEW.detail WHERE NEW.detail IS NOT OLD.detail
        UNION ALL SELECT 'detail_salt', hex(NEW.detail_salt) WHERE NEW.detail_salt IS NOT OLD.detail_salt
        UNION ALL SELECT 'cost_tokens', NEW.cost_tokens WHERE NEW.cost_tokens IS NOT OLD.cost_tokens
        UNION ALL SELECT 'cost_usd', NEW.cost_usd WHERE NEW.cost_usd IS NOT OLD.cost_usd
        UNION ALL SELECT 'latency_ms', NEW.latency_ms WHERE NEW.latency_ms IS NOT OLD.latency_ms
        UNION ALL SELECT 'flags', NEW.flags WHERE NEW.flags IS NOT OLD.flags
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: cog_events refuses UPDATE');
END;

CREATE TRIGGER cog_events_refuse_delete BEFORE DELETE ON cog_events
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'cog_events', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'log', OLD.log, 'seq', OLD.seq, 'belief_id', OLD.belief_id),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: cog_events refuses DELETE');
END;
