-- Keeps even the owner of the tables from altering or dropping what makes them write-once. Objects are
-- known by OID, so that neither a new name nor another schema hides one. Made by a superuser, and only a
-- superuser can switch it off.
CREATE SCHEMA doxa_guard;

CREATE TABLE doxa_guard.protected (
  classid oid NOT NULL,
  objid oid NOT NULL,
  PRIMARY KEY (classid, objid)
);

CREATE FUNCTION doxa_guard.refuse_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $doxa$
DECLARE
  command record;
BEGIN
  IF TG_EVENT = 'sql_drop' THEN
    FOR command IN
      SELECT d.object_type, d.object_identity
      FROM pg_event_trigger_dropped_objects() AS d
      JOIN doxa_guard.protected AS p
        ON (p.classid = d.classid AND p.objid = d.objid)
        OR (
          p.classid = 'pg_class'::regclass
          AND p.objid = CASE
            WHEN d.object_type IN ('trigger', 'rule', 'policy', 'table constraint', 'table column')
            THEN to_regclass(format('%I.%I', d.address_names[1], d.address_names[2]))
          END
        )
    LOOP
      RAISE EXCEPTION 'write-once: dropping % % is refused',
        command.object_type, command.object_identity
        USING ERRCODE = 'insufficient_privilege';
    END LOOP;
    RETURN;
  END IF;
  FOR command IN
    SELECT d.command_tag, d.object_identity
    FROM pg_event_trigger_ddl_commands() AS d
    JOIN doxa_guard.protected AS p
      ON (p.classid = d.classid AND p.objid = d.objid)
      OR (
        p.classid = 'pg_class'::regclass
        AND p.objid IN (
          SELECT tgrelid FROM pg_trigger
          WHERE d.classid = 'pg_trigger'::regclass AND oid = d.objid
          UNION ALL
          SELECT ev_class FROM pg_rewrite
          WHERE d.classid = 'pg_rewrite'::regclass AND oid = d.objid
          UNION ALL
          SELECT polrelid FROM pg_policy
          WHERE d.classid = 'pg_policy'::regclass AND oid = d.objid
          UNION ALL
          SELECT inhparent FROM pg_inherits
          WHERE d.classid = 'pg_class'::regclass AND inhrelid = d.objid
        )
      )
  LOOP
    RAISE EXCEPTION 'write-once: % on % is refused', command.command_tag, command.object_identity
      USING ERRCODE = 'insufficient_privilege';
  END LOOP;
END
$doxa$;

REVOKE ALL ON FUNCTION doxa_guard.refuse_ddl() FROM PUBLIC;

CREATE EVENT TRIGGER doxa_no_ddl ON ddl_command_end EXECUTE FUNCTION doxa_guard.refuse_ddl();

ALTER EVENT TRIGGER doxa_no_ddl ENABLE ALWAYS;

CREATE EVENT TRIGGER doxa_no_drop ON sql_drop EXECUTE FUNCTION doxa_guard.refuse_ddl();

ALTER EVENT TRIGGER doxa_no_drop ENABLE ALWAYS;
