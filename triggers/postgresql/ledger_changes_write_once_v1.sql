-- What every write-once table runs. Arguments of the row trigger: the columns that name a row, and where
-- there is one, the payload and its salt, which may go once a tombstone names the row.
-- An attempt is noted and the row left as it is (NULL): an exception would undo the note. TRUNCATE can
-- only be stopped by one; the number it takes from the sequence stays taken, as that of any attempt
-- which is rolled back.
-- It runs as its owner, so that nobody else need be able to write notes; hence nobody else may bind it to
-- a table of his own.
CREATE FUNCTION doxa_write_once() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $doxa$
DECLARE
  was jsonb;
  wanted jsonb;
  is_redaction boolean;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    PERFORM nextval(format('%I.ledger_changes_change_id_seq', TG_TABLE_SCHEMA)::regclass);
    RAISE EXCEPTION 'write-once: % refuses TRUNCATE', TG_TABLE_NAME
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  was := to_jsonb(OLD);
  IF TG_OP = 'UPDATE' THEN
    IF TG_NARGS = 3 AND NEW *= jsonb_populate_record(
      OLD, jsonb_build_object(TG_ARGV[1], NULL, TG_ARGV[2], NULL)
    ) THEN
      EXECUTE format(
        'SELECT EXISTS (SELECT 1 FROM %I.redactions WHERE agent_id = $1 AND target_log = $2'
        ' AND target_seq = $3 AND target_table = $4)', TG_TABLE_SCHEMA
      ) INTO is_redaction USING OLD.agent_id, OLD.log, OLD.seq, TG_TABLE_NAME::text;
      IF is_redaction THEN
        RETURN NEW;
      END IF;
    END IF;
    SELECT coalesce(jsonb_object_agg(n.key, n.value), '{}') INTO wanted
    FROM jsonb_each(to_jsonb(NEW)) AS n
    WHERE n.value IS DISTINCT FROM was -> n.key;
  END IF;
  EXECUTE format(
    'INSERT INTO %I.ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)'
    ' VALUES ($1, $2, $3, 1, $4, NULL, $5)', TG_TABLE_SCHEMA
  ) USING
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    TG_TABLE_NAME::text,
    lower(TG_OP),
    (
      SELECT jsonb_object_agg(name, was -> name)
      FROM unnest(string_to_array(TG_ARGV[0], ',')) AS name
    )::text,
    wanted::text;
  RETURN NULL;
END
$doxa$;

REVOKE ALL ON FUNCTION doxa_write_once() FROM PUBLIC;

CREATE TRIGGER ledger_changes_refuse_change BEFORE DELETE OR UPDATE ON ledger_changes
FOR EACH ROW EXECUTE FUNCTION doxa_write_once('change_id');

ALTER TABLE ledger_changes ENABLE ALWAYS TRIGGER ledger_changes_refuse_change;

CREATE TRIGGER ledger_changes_refuse_truncate BEFORE TRUNCATE ON ledger_changes
FOR EACH STATEMENT EXECUTE FUNCTION doxa_write_once();

ALTER TABLE ledger_changes ENABLE ALWAYS TRIGGER ledger_changes_refuse_truncate;
