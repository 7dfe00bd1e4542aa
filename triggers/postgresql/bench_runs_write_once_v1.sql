-- bench_runs is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER bench_runs_refuse_change BEFORE DELETE OR UPDATE ON bench_runs
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,bench_run_id,log,seq');

ALTER TABLE bench_runs ENABLE ALWAYS TRIGGER bench_runs_refuse_change;

CREATE TRIGGER bench_runs_refuse_truncate BEFORE TRUNCATE ON bench_runs
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE bench_runs ENABLE ALWAYS TRIGGER bench_runs_refuse_truncate;
