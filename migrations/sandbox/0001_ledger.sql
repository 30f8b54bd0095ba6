-- The sandbox payment gateway is somebody else's system that happens to run here: a schema of its own, which
-- no module's SQL names, reached through a connection of its own.
CREATE SCHEMA sandbox;

CREATE TABLE sandbox.charges (
	idempotency_key text        PRIMARY KEY,
	reference       text        NOT NULL,
	method          text        NOT NULL,
	amount          bigint      NOT NULL,
	currency        text        NOT NULL,
	outcome         text        NOT NULL CHECK (outcome IN ('approved', 'declined')),
	reason          text,
	charged_on      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX charges_reference ON sandbox.charges (reference);
