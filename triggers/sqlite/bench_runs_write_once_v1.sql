-- bench_runs is write-once. FAIL, not ABORT: that would undo the note, and keep a journal for it with every INSERT.

-- REPLACE removes the row in its way without firing a DELETE trigger. A colliding retry looks the same
-- from in here, so nothing is noted. -1 stands for a rowid that was not given; none may be.
CREATE TRIGGER bench_runs_refuse_replace BEFORE INSERT ON bench_runs
WHEN EXISTS (
    SELECT 1 FROM bench_runs WHERE agent_id = NEW.agent_id AND bench_run_id = NEW.bench_run_id
  )
  OR EXISTS (
    SELECT 1 FROM bench_runs WHERE agent_id = NEW.agent_id AND log = NEW.log AND seq = NEW.seq
  )
  OR NEW.rowid <> -1
BEGIN
  SELECT RAISE(FAIL, 'already recorded: bench_runs');
END;

CREATE TRIGGER bench_runs_refuse_update BEFORE UPDATE ON bench_runs
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'bench_runs', 'update', 1,
    json_object('agent_id', OLD.agent_id, 'bench_run_id', OLD.bench_run_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    (
      SELECT json_group_object(name, value) FROM (
        SELECT 'agent_id' AS name, NEW.agent_id AS value WHERE NEW.agent_id IS NOT OLD.agent_id
        UNION ALL SELECT 'bench_run_id', NEW.bench_run_id WHERE NEW.bench_run_id IS NOT OLD.bench_run_id
        UNION ALL SELECT 'log', NEW.log WHERE NEW.log IS NOT OLD.log
        UNION ALL SELECT 'seq', NEW.seq WHERE NEW.seq IS NOT OLD.seq
        UNION ALL SELECT 'ran_at', NEW.ran_at WHERE NEW.ran_at IS NOT OLD.ran_at
        UNION ALL SELECT 'commit_sha', NEW.commit_sha WHERE NEW.commit_sha IS NOT OLD.commit_sha
        UNION ALL SELECT 'just_loss', NEW.just_loss WHERE NEW.just_loss IS NOT OLD.just_loss
        UNION ALL SELECT 'just_loss_bare', NEW.just_loss_bare WHERE NEW.just_loss_bare IS NOT OLD.just_loss_bare
        UNION ALL SELECT 'detail', NEW.detail WHERE NEW.detail IS NOT OLD.detail
        UNION ALL SELECT 'leaf_hash', hex(NEW.leaf_hash) WHERE NEW.leaf_hash IS NOT OLD.leaf_hash
        UNION ALL SELECT 'seal', hex(NEW.seal) WHERE NEW.seal IS NOT OLD.seal
        UNION ALL SELECT 'rowid', NEW.rowid WHERE NEW.rowid IS NOT OLD.rowid
      )
    )
  );
  SELECT RAISE(FAIL, 'write-once: bench_runs refuses UPDATE');
END;

CREATE TRIGGER bench_runs_refuse_delete BEFORE DELETE ON bench_runs
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    'bench_runs', 'delete', 1,
    json_object('agent_id', OLD.agent_id, 'bench_run_id', OLD.bench_run_id, 'log', OLD.log, 'seq', OLD.seq),
    NULL,
    NULL
  );
  SELECT RAISE(FAIL, 'write-once: bench_runs refuses DELETE');
END;
