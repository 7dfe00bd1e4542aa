-- belief_versions is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER belief_versions_refuse_change BEFORE DELETE OR UPDATE ON belief_versions
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,belief_id,log,seq');

ALTER TABLE belief_versions ENABLE ALWAYS TRIGGER belief_versions_refuse_change;

CREATE TRIGGER belief_versions_refuse_truncate BEFORE TRUNCATE ON belief_versions
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE belief_versions ENABLE ALWAYS TRIGGER belief_versions_refuse_truncate;
