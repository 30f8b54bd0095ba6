-- Idempotency keys of requests. A row commits with what the request did: with its first transaction, pointing at
-- what that created, and with the answer in its last. Rows are kept for a day.
CREATE TABLE platform.idempotency_keys (
	scope         bytea       PRIMARY KEY, -- SHA-256 over who asked for what, under which key
	body          bytea       NOT NULL,    -- SHA-256 of the raw body
	resource      text        NOT NULL DEFAULT '', -- what the first transaction created, by whatever name its handler knows it
	owner         uuid,                    -- the run that works on the request, until claimed_until
	claimed_until timestamptz,
	status        int,                     -- the answer; null until there is one
	location      text,
	etag          text,
	answer        bytea,
	created_on    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idempotency_keys_created_on ON platform.idempotency_keys (created_on);
