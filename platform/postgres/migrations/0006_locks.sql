-- Locks that processes hold across transactions; see package lock. There is a row for every lock that is held, or
-- whose holder has gone without releasing it; releasing deletes it. Fences come from a sequence, so that they
-- never go back, however often a row is deleted and made anew.
CREATE SEQUENCE platform.lock_fences;

CREATE TABLE platform.locks (
	name       text        PRIMARY KEY,
	owner      text        NOT NULL,
	fence      bigint      NOT NULL, -- rises with each take; whoever holds a lower one holds nothing
	taken_on   timestamptz NOT NULL DEFAULT now(),
	expires_on timestamptz NOT NULL  -- moved by renewals; from then on anybody may take it
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX locks_expires_on ON platform.locks (expires_on);
