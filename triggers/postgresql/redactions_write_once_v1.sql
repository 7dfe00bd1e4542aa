-- redactions is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER redactions_refuse_change BEFORE DELETE OR UPDATE ON redactions
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,target_log,target_seq,log,seq');

ALTER TABLE redactions ENABLE ALWAYS TRIGGER redactions_refuse_change;

CREATE TRIGGER redactions_refuse_truncate BEFORE TRUNCATE ON redactions
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE redactions ENABLE ALWAYS TRIGGER redactions_refuse_truncate;
