-- Policy `record`: the change happens and is noted. Arguments: the key column, what the key is noted with
-- besides, and the content columns. Values are compared as the text of their JSON, so that neither NULL
-- nor a collation hides a change.
CREATE OR REPLACE FUNCTION doxa_record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$doxa$$
DECLARE
  key CONSTANT text := TG_ARGV[0];
  named CONSTANT jsonb := TG_ARGV[1];
  content CONSTANT text[] := TG_ARGV[2];
  noted CONSTANT text := format(
    'INSERT INTO %I.ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)',
    TG_TABLE_SCHEMA
  );
  at CONSTANT bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  was jsonb;
  becomes jsonb;
  old_key jsonb;
  new_key jsonb;
  is_renamed boolean := false;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    EXECUTE noted || format(
      ' SELECT $$1, $$2, ''truncate'', 0,'
      ' ($$3 || jsonb_build_object($$4, to_jsonb(t) -> $$4))::text,'
      ' (SELECT jsonb_object_agg(c, to_jsonb(t) -> c) FROM unnest($$5) AS c)::text, NULL'
      ' FROM ONLY %I.%I AS t', TG_TABLE_SCHEMA, TG_TABLE_NAME
    ) USING at, TG_TABLE_NAME::text, named, key, content;
    RETURN NULL;
  END IF;
  SELECT jsonb_object_agg(c, to_jsonb(OLD) -> c) INTO was FROM unnest(content) AS c;
  old_key := named || jsonb_build_object(key, to_jsonb(OLD) -> key);
  IF TG_OP = 'UPDATE' THEN
    SELECT jsonb_object_agg(c, to_jsonb(NEW) -> c) INTO becomes FROM unnest(content) AS c;
    new_key := named || jsonb_build_object(key, to_jsonb(NEW) -> key);
    is_renamed := old_key::text IS DISTINCT FROM new_key::text;
    IF NOT is_renamed AND was::text IS NOT DISTINCT FROM becomes::text THEN
      RETURN NULL;
    END IF;
    IF is_renamed THEN
      becomes := becomes || new_key;
    END IF;
  END IF;
  EXECUTE noted || ' VALUES ($$1, $$2, $$3, 0, $$4, $$5, $$6)' USING
    at, TG_TABLE_NAME::text, CASE WHEN is_renamed THEN 'rename' ELSE lower(TG_OP) END,
    old_key::text, was::text, becomes::text;
  RETURN NULL;
END
$$doxa$$;

REVOKE ALL ON FUNCTION doxa_record_change() FROM PUBLIC;

CREATE TRIGGER $update AFTER DELETE OR UPDATE ON $table
FOR EACH ROW EXECUTE FUNCTION doxa_record_change($arguments);

ALTER TABLE $table ENABLE ALWAYS TRIGGER $update;

CREATE TRIGGER $delete BEFORE TRUNCATE ON $table
FOR EACH STATEMENT EXECUTE FUNCTION doxa_record_change($arguments);

ALTER TABLE $table ENABLE ALWAYS TRIGGER $delete;
