-- inference_resolutions is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER inference_resolutions_refuse_change BEFORE DELETE OR UPDATE ON inference_resolutions
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,resolution_id,log,seq');

ALTER TABLE inference_resolutions ENABLE ALWAYS TRIGGER inference_resolutions_refuse_change;

CREATE TRIGGER inference_resolutions_refuse_truncate BEFORE TRUNCATE ON inference_resolutions
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE inference_resolutions ENABLE ALWAYS TRIGGER inference_resolutions_refuse_truncate;
