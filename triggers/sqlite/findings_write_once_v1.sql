-- findings is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER findings_refuse_replace BEFORE INSERT ON findings
WHEN EXISTS (
    SELECT 1 FROM findings WHERE agent_id = NEW.agent_id AND finding_id = NEW.finding_id
  )
  OR EXISTS (
    SELECT 1 FROM findings WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: findings');
END;

CREATE TRIGGER findings_refuse_update BEFORE UPDATE ON findings
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'findings', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'finding_id', OLD.finding_id, 'log', OLD.log, 'seq', OLD.seq, 'belief_id', OLD.belief_id),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'finding_id', NEW.finding_id WHERE NEW.finding_id IS NOT OLD.finding_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'run_id', NEW.run_id WHERE NEW.run_id IS NOT OLD.run_id
        UNION ALL SELECT 'turn_id', NEW.turn_id WHERE NEW.turn_id IS NOT OLD.turn_id
        UNION ALL SELECT 'session_id', NEW.session_id WHERE NEW.session_id IS NOT OLD.session_id
        UNION ALL SELECT 'ts', NEW.ts WHERE NEW.ts IS NOT OLD.ts
        UNION ALL SELECT 'statement', NEW.statement WHERE NEW.statement IS NOT OLD.statement
        UNION ALL SELECT 'quote', NEW.quote WHERE NEW.quote IS NOT OLD.quote
        UNION ALL SELECT 'quote_start', NEW.quote_start WHERE NEW.quote_start IS NOT OLD.quote_start
        UNION ALL SELECT 'quote_end', NEW.quote_end WHERE NEW.quote_end IS NOT OLD.quote_end
        UNION ALL SELECT 'context_quotes', NEW.context_quotes WHERE NEW.context_quotes IS NOT OLD.context_quotes
        UNION ALL SELECT 'support', NEW.support WHERE NEW.support IS NOT OLD.support
        UNION ALL SELECT 'support_score', NEW.support_score WHERE NEW.support_score IS NOT OLD.support_score
        UNION ALL SELECT 'expressed_confidence', NEW.expressed_confidence WHERE NEW.expressed_confidence IS NOT OLD.expressed_confidence
        UNION ALL SELECT 'decisive_source', NEW.decisive_source WHERE NEW.decisive_source IS NOT OLD.decisive_source
        UNION ALL SELECT 'tool_before', NEW.tool_before WHERE NEW.tool_before IS NOT OLD.tool_before
        UNION ALL SELECT 'abducted', NEW.abducted WHERE NEW.abducted IS NOT OLD.abducted
        UNION ALL SELECT 'gated', NEW.gated WHERE NEW.gated IS NOT OLD.gated
        UNION ALL SELECT 'written', NEW.written WHERE NEW.written IS NOT OLD.written
        UNION ALL SELECT 'belief_id', NEW.belief_id WHERE NEW.belief_id IS NOT OLD.belief_id
        UNION ALL SELECT 'belief_label', NEW.belief_label WHERE NEW.belief_label IS NOT OLD.belief_label
        UNION ALL SELECT 'link_score', NEW.link_score WHERE NEW.link_score IS NOT OLD.link_score
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: findings refuses UPDATE');
END;

CREATE TRIGGER findings_refuse_delete BEFORE DELETE ON findings
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'findings', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'finding_id', OLD.finding_id, 'log', OLD.log, 'seq', OLD.seq, 'belief_id', OLD.belief_id),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: findings refuses DELETE');
END;
