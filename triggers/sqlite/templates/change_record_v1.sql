-- Policy `record`: the change happens and is noted. REPLACE, also in an UPDATE, removes rows without
-- firing a DELETE trigger: what stands in its way is stashed before and noted after, when it is gone. An
-- upsert or an ignored insert never comes to that, so each stash begins empty.
CREATE TABLE IF NOT EXISTS ledger_changes_stash (
  table_name TEXT NOT NULL,
  row_key TEXT NOT NULL,
  old_row TEXT NOT NULL
) STRICT;

CREATE TRIGGER $stash_insert BEFORE INSERT ON $table
BEGIN
  DELETE FROM ledger_changes_stash WHERE table_name = $table_text;
  INSERT INTO ledger_changes_stash (table_name, row_key, old_row)
  SELECT $table_text, $row_key, $row_content FROM $table WHERE $collides;
END;

CREATE TRIGGER $replace AFTER INSERT ON $table
WHEN EXISTS (SELECT 1 FROM ledger_changes_stash WHERE table_name = $table_text)
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  SELECT
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    $table_text, 'replace', 0, row_key, old_row,
    CASE WHEN row_key = $new_key THEN $new_content END
  FROM ledger_changes_stash
  WHERE table_name = $table_text AND (row_key <> $new_key OR old_row <> $new_content);
  DELETE FROM ledger_changes_stash WHERE table_name = $table_text;
END;

CREATE TRIGGER $stash_update BEFORE UPDATE ON $table
WHEN $moved
BEGIN
  DELETE FROM ledger_changes_stash WHERE table_name = $table_text;
  INSERT INTO ledger_changes_stash (table_name, row_key, old_row)
  SELECT $table_text, $row_key, $row_content FROM $table WHERE ($collides) AND NOT ($is_old);
END;

CREATE TRIGGER $eaten AFTER UPDATE ON $table
WHEN ($moved) AND EXISTS (SELECT 1 FROM ledger_changes_stash WHERE table_name = $table_text)
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  SELECT
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    $table_text, 'replace', 0, row_key, old_row, NULL
  FROM ledger_changes_stash
  WHERE table_name = $table_text;
  DELETE FROM ledger_changes_stash WHERE table_name = $table_text;
END;

CREATE TRIGGER $update AFTER UPDATE ON $table
WHEN $renamed OR $changed
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    $table_text, CASE WHEN $renamed THEN 'rename' ELSE 'update' END, 0,
    $old_key, $old_content,
    CASE WHEN $renamed THEN json_patch($new_content, $new_key) ELSE $new_content END
  );
END;

CREATE TRIGGER $delete AFTER DELETE ON $table
BEGIN
  INSERT INTO ledger_changes (at, table_name, op, refused, row_key, old_row, new_row)
  VALUES (
    CAST(strftime('%s', 'now') AS INTEGER) * 1000000
      + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
    $table_text, 'delete', 0, $old_key, $old_content, NULL
  );
END;
