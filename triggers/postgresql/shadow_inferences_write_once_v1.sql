-- shadow_inferences is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER shadow_inferences_refuse_change BEFORE DELETE OR UPDATE ON shadow_inferences
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,shadow_id,log,seq,belief_id');

ALTER TABLE shadow_inferences ENABLE ALWAYS TRIGGER shadow_inferences_refuse_change;

CREATE TRIGGER shadow_inferences_refuse_truncate BEFORE TRUNCATE ON shadow_inferences
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE shadow_inferences ENABLE ALWAYS TRIGGER shadow_inferences_refuse_truncate;
