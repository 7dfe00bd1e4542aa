-- cog_events is write-once; doxa_write_once() stands in ledger_changes_write_once_v1.sql.

CREATE TRIGGER cog_events_refuse_change BEFORE DELETE OR UPDATE ON cog_events
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('agent_id,log,seq,belief_id', 'detail', 'detail_salt');

ALTER TABLE cog_events ENABLE ALWAYS TRIGGER cog_events_refuse_change;

CREATE TRIGGER cog_events_refuse_truncate BEFORE TRUNCATE ON cog_events
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE cog_events ENABLE ALWAYS TRIGGER cog_events_refuse_truncate;
