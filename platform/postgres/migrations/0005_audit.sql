-- Who changed what: one row a change, in the transaction of that change.
CREATE TABLE platform.audit_entries (
	id             uuid        PRIMARY KEY, -- version 7: by descending id is newest first
	source         text        NOT NULL,
	entity_type    text        NOT NULL CHECK (length(entity_type) <= 256),
	entity_key     text        NOT NULL CHECK (length(entity_key) <= 128),
	operation      text        NOT NULL CHECK (operation IN ('added', 'modified', 'deleted', 'performed')),
	changes        jsonb       NOT NULL, -- [{"property", "old", "new"}, …]
	changed_by     text,
	changed_on     timestamptz NOT NULL DEFAULT now(),
	correlation_id text,
	tenant         text
);
CREATE INDEX audit_entries_entity ON platform.audit_entries (entity_type, entity_key, id);
CREATE INDEX audit_entries_changed_by ON platform.audit_entries (changed_by, id) WHERE changed_by IS NOT NULL;
CREATE INDEX audit_entries_correlation ON platform.audit_entries (correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX audit_entries_changed_on ON platform.audit_entries (changed_on);

-- Entries are not changed, and old ones are removed in one way only: through the view audit_purge below, whose trigger
-- deletes with the rights of the owner. Nothing has to be believed here that a caller could set:
--
--   * pg_trigger_depth() is 1 for whoever writes DELETE, in a function or a DO block just as well. It is 2 only under
--     another trigger, and no statement that merely changes data makes one.
--   * current_user is the table's owner only for the owner and in what runs with the owner's rights, so that a
--     temporary table with a trigger of its own is no way round for the program's role.
--   * An entry younger than a day stays, whoever deletes: that is a second trigger.
--
-- The triggers fire for every role, in sessions that play a replica as well. Taking them away is left to the owner
-- and to superusers; it is a change of the schema, never a slip.
CREATE FUNCTION platform.keep_audit_entries() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF TG_LEVEL = 'STATEMENT' AND TG_OP = 'DELETE' AND pg_trigger_depth() > 1
		AND current_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = TG_RELID)
	THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'audit entries are append-only: % is refused', TG_OP USING
		ERRCODE = 'insufficient_privilege',
		HINT = 'Entries older than a day are removed, from the oldest on, by platform.purge_audit_entries(older_than, batch).';
END $$;

CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON platform.audit_entries
	FOR EACH STATEMENT EXECUTE FUNCTION platform.keep_audit_entries();
CREATE TRIGGER audit_entries_recent BEFORE DELETE ON platform.audit_entries
	FOR EACH ROW WHEN (OLD.changed_on > now() - interval '24 hours') EXECUTE FUNCTION platform.keep_audit_entries();
ALTER TABLE platform.audit_entries ENABLE ALWAYS TRIGGER audit_entries_append_only;
ALTER TABLE platform.audit_entries ENABLE ALWAYS TRIGGER audit_entries_recent;

-- A row that is inserted here is one batch of a purge. It is stored nowhere.
CREATE VIEW platform.audit_purge AS
	SELECT NULL::interval AS older_than, NULL::int AS batch, NULL::int AS removed WHERE false;

-- Each batch is read from the index, in its order, and no further than it goes; statistics may be behind. Rows that
-- somebody holds are passed over, and who holds the whole table is waited for only briefly.
CREATE FUNCTION platform.purge_audit_batch() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms'
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
	youngest CONSTANT timestamptz := now() - interval '24 hours';
	cutoff   CONSTANT timestamptz := now() - NEW.older_than;
BEGIN
	-- The instant is compared, not the interval: '1 month -29 days' passes for a day and may be less.
	IF cutoff IS NULL OR cutoff > youngest THEN
		RAISE EXCEPTION 'audit entries younger than 24 hours are not removed' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF NEW.batch IS NULL OR NEW.batch NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'a batch is 1 to 10000 audit entries' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	DELETE FROM platform.audit_entries WHERE id = ANY (ARRAY(
		SELECT id FROM platform.audit_entries WHERE changed_on < cutoff
		ORDER BY changed_on LIMIT NEW.batch FOR UPDATE SKIP LOCKED));
	GET DIAGNOSTICS NEW.removed = ROW_COUNT;
	RETURN NEW;
END $$;

CREATE TRIGGER audit_purge_batch INSTEAD OF INSERT ON platform.audit_purge
	FOR EACH ROW EXECUTE FUNCTION platform.purge_audit_batch();

-- Removes the oldest entries, at most batch of those older than older_than, and returns how many there were.
CREATE FUNCTION platform.purge_audit_entries(older_than interval, batch int) RETURNS int
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS 'INSERT INTO platform.audit_purge (older_than, batch) VALUES ($1, $2) RETURNING removed';
