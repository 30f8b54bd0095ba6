-- A run may end with "not now": no failure, and no attempt is used up.
--   put_offs   how often that has happened since the row was made or requeued
--   put_off    whether it is how the last claim ended
ALTER TABLE platform.internal_commands
	ADD COLUMN put_offs int     NOT NULL DEFAULT 0,
	ADD COLUMN put_off  boolean NOT NULL DEFAULT false;
ALTER TABLE platform.deliveries
	ADD COLUMN put_offs int     NOT NULL DEFAULT 0,
	ADD COLUMN put_off  boolean NOT NULL DEFAULT false;

-- NOT VALID spares a read of the whole table under an exclusive lock: what is in it has passed a stricter check.
ALTER TABLE platform.attempts
	DROP CONSTRAINT attempts_outcome_check,
	ADD CONSTRAINT attempts_outcome_check
		CHECK (outcome IN ('succeeded', 'failed', 'dead_lettered', 'crashed', 'released', 'put_off')) NOT VALID;
