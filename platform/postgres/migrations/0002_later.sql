-- Durable work: internal commands, events with a delivery per handler, and who works on them.
--
-- commands and deliveries share the columns of a claim; package later/lease works on both:
--   next_attempt_on   not before; moved by retries
--   claim             rises with each claim; it is the fence: whoever holds a lower number holds nothing
--   claimed_until     set while somebody works on the row, until the lease ends; the row is free when null
--   attempts          outcomes so far; crashes: claims that ended without one
--   processed_on, dead_lettered_on   at most one is set, and then nobody works on the row again
--   unclaimable_since the first time that no live replica was seen to know the name

CREATE TABLE platform.internal_commands (
	id                 uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
	source             text        NOT NULL DEFAULT '',
	name               text        NOT NULL,
	payload            jsonb       NOT NULL,
	payload_version    int         NOT NULL DEFAULT 1,
	created_on         timestamptz NOT NULL DEFAULT now(),
	scheduled_on       timestamptz NOT NULL DEFAULT now(),
	user_id            text,
	roles              text[]      NOT NULL DEFAULT '{}',
	tenant             text,
	correlation_id     text,
	trace_parent       text,
	next_attempt_on    timestamptz NOT NULL DEFAULT now(),
	claim              bigint      NOT NULL DEFAULT 0,
	claimed_by         uuid,
	claimed_on         timestamptz,
	claimed_until      timestamptz,
	max_attempts       int         NOT NULL DEFAULT 5 CHECK (max_attempts > 0),
	attempts           int         NOT NULL DEFAULT 0,
	crashes            int         NOT NULL DEFAULT 0,
	processed_on       timestamptz,
	dead_lettered_on   timestamptz,
	dead_letter_reason text,
	last_error         text,
	unclaimable_since  timestamptz,
	CHECK (processed_on IS NULL OR dead_lettered_on IS NULL),
	CHECK (claimed_until IS NULL OR (processed_on IS NULL AND dead_lettered_on IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX internal_commands_due ON platform.internal_commands (next_attempt_on, id)
	WHERE processed_on IS NULL AND dead_lettered_on IS NULL AND claimed_until IS NULL;
-- Rows under suspicion of crashing their process; see package lease.
CREATE INDEX internal_commands_suspects ON platform.internal_commands (next_attempt_on, id)
	WHERE processed_on IS NULL AND dead_lettered_on IS NULL AND claimed_until IS NULL AND crashes >= 3;
CREATE INDEX internal_commands_claimed ON platform.internal_commands (claimed_until)
	WHERE claimed_until IS NOT NULL;
CREATE INDEX internal_commands_processed ON platform.internal_commands (processed_on)
	WHERE processed_on IS NOT NULL;
CREATE INDEX internal_commands_dead ON platform.internal_commands (dead_lettered_on, id)
	WHERE dead_lettered_on IS NOT NULL;
CREATE INDEX internal_commands_correlation ON platform.internal_commands (correlation_id)
	WHERE correlation_id IS NOT NULL;

CREATE TABLE platform.events (
	id              uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
	source          text        NOT NULL DEFAULT '',
	name            text        NOT NULL,
	payload         jsonb       NOT NULL,
	payload_version int         NOT NULL DEFAULT 1,
	occurred_on     timestamptz NOT NULL DEFAULT now(),
	user_id         text,
	roles           text[]      NOT NULL DEFAULT '{}',
	tenant          text,
	correlation_id  text,
	trace_parent    text
);
CREATE INDEX events_correlation ON platform.events (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX events_occurred_on ON platform.events (occurred_on);

-- Who gets which event. A process adds its own handlers when it starts; removing one is a decision.
CREATE TABLE platform.subscriptions (
	event        text        NOT NULL,
	handler      text        NOT NULL,
	max_attempts int         NOT NULL DEFAULT 10 CHECK (max_attempts > 0),
	since        timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (event, handler)
);

CREATE TABLE platform.deliveries (
	id                 uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
	event_id           uuid        NOT NULL REFERENCES platform.events,
	event              text        NOT NULL,
	name               text        NOT NULL, -- of the handler
	payload_version    int         NOT NULL DEFAULT 1,
	created_on         timestamptz NOT NULL DEFAULT now(),
	next_attempt_on    timestamptz NOT NULL DEFAULT now(),
	claim              bigint      NOT NULL DEFAULT 0,
	claimed_by         uuid,
	claimed_on         timestamptz,
	claimed_until      timestamptz,
	max_attempts       int         NOT NULL DEFAULT 10 CHECK (max_attempts > 0),
	attempts           int         NOT NULL DEFAULT 0,
	crashes            int         NOT NULL DEFAULT 0,
	processed_on       timestamptz,
	dead_lettered_on   timestamptz,
	dead_letter_reason text,
	last_error         text,
	unclaimable_since  timestamptz,
	UNIQUE (event_id, name),
	CHECK (processed_on IS NULL OR dead_lettered_on IS NULL),
	CHECK (claimed_until IS NULL OR (processed_on IS NULL AND dead_lettered_on IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX deliveries_due ON platform.deliveries (next_attempt_on, id)
	WHERE processed_on IS NULL AND dead_lettered_on IS NULL AND claimed_until IS NULL;
-- Rows under suspicion of crashing their process; see package lease.
CREATE INDEX deliveries_suspects ON platform.deliveries (next_attempt_on, id)
	WHERE processed_on IS NULL AND dead_lettered_on IS NULL AND claimed_until IS NULL AND crashes >= 3;
CREATE INDEX deliveries_claimed ON platform.deliveries (claimed_until)
	WHERE claimed_until IS NOT NULL;
CREATE INDEX deliveries_processed ON platform.deliveries (processed_on)
	WHERE processed_on IS NOT NULL;
CREATE INDEX deliveries_dead ON platform.deliveries (dead_lettered_on, id)
	WHERE dead_lettered_on IS NOT NULL;

-- What a handler has done already. Its row is the first thing in the transaction of the handler's effects.
CREATE TABLE platform.inbox (
	event_id     uuid        NOT NULL,
	handler      text        NOT NULL,
	processed_on timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (event_id, handler)
);
CREATE INDEX inbox_processed_on ON platform.inbox (processed_on);

-- One row a claim that has ended, of a command or a delivery.
CREATE TABLE platform.attempts (
	work_id     uuid        NOT NULL,
	claim       bigint      NOT NULL,
	started_on  timestamptz NOT NULL,
	finished_on timestamptz NOT NULL,
	outcome     text        NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'dead_lettered', 'crashed', 'released')),
	error       text,
	replica     uuid,
	PRIMARY KEY (work_id, claim)
);

CREATE TABLE platform.replicas (
	id           uuid        PRIMARY KEY,
	host         text        NOT NULL,
	version      text        NOT NULL,
	started_on   timestamptz NOT NULL DEFAULT now(),
	heartbeat_on timestamptz NOT NULL DEFAULT now()
);

-- The commands and handlers that a replica runs, up to which version of their payload.
CREATE TABLE platform.replica_names (
	replica_id uuid NOT NULL REFERENCES platform.replicas ON DELETE CASCADE,
	mechanism  text NOT NULL,
	name       text NOT NULL,
	version    int  NOT NULL,
	PRIMARY KEY (replica_id, mechanism, name)
);
CREATE INDEX replica_names_name ON platform.replica_names (mechanism, name);
