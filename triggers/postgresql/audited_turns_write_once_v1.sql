-- audited_turns is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER audited_turns_refuse_change BEFORE DELETE OR UPDATE ON audited_turns
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,turn_id,log,seq');

ALTER TABLE audited_turns ENABLE ALWAYS TRIGGER audited_turns_refuse_change;

CREATE TRIGGER audited_turns_refuse_truncate BEFORE TRUNCATE ON audited_turns
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE audited_turns ENABLE ALWAYS TRIGGER audited_turns_refuse_truncate;
