-- hand_check_verdicts is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER hand_check_verdicts_refuse_change BEFORE DELETE OR UPDATE ON hand_check_verdicts
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,verdict_id,log,seq');

ALTER TABLE hand_check_verdicts ENABLE ALWAYS TRIGGER hand_check_verdicts_refuse_change;

CREATE TRIGGER hand_check_verdicts_refuse_truncate BEFORE TRUNCATE ON hand_check_verdicts
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE hand_check_verdicts ENABLE ALWAYS TRIGGER hand_check_verdicts_refuse_truncate;
