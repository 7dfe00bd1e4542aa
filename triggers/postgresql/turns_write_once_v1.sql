-- turns is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER turns_refuse_change BEFORE DELETE OR UPDATE ON turns
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,turn_id,log,seq', 'payload', 'payload_salt');

ALTER TABLE turns ENABLE ALWAYS TRIGGER turns_refuse_change;

CREATE TRIGGER turns_refuse_truncate BEFORE TRUNCATE ON turns
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE turns ENABLE ALWAYS TRIGGER turns_refuse_truncate;
