-- inference_contexts is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER inference_contexts_refuse_change BEFORE DELETE OR UPDATE ON inference_contexts
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,context_id,log,seq');

ALTER TABLE inference_contexts ENABLE ALWAYS TRIGGER inference_contexts_refuse_change;

CREATE TRIGGER inference_contexts_refuse_truncate BEFORE TRUNCATE ON inference_contexts
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE inference_contexts ENABLE ALWAYS TRIGGER inference_contexts_refuse_truncate;
