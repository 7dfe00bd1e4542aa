-- findings is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER findings_refuse_change BEFORE DELETE OR UPDATE ON findings
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,finding_id,log,seq,belief_id');

ALTER TABLE findings ENABLE ALWAYS TRIGGER findings_refuse_change;

CREATE TRIGGER findings_refuse_truncate BEFORE TRUNCATE ON findings
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE findings ENABLE ALWAYS TRIGGER findings_refuse_truncate;
