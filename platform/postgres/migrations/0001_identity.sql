-- Tells this database from every other, by whatever address it is reached.
CREATE TABLE platform.database (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid()
);
INSERT INTO platform.database DEFAULT VALUES;

-- Users and their sessions. They live in the default source's database; in another one these stay empty.

CREATE TABLE platform.users (
	id            uuid        PRIMARY KEY,
	email         text        NOT NULL,
	name          text        NOT NULL,
	password_hash text        NOT NULL,
	roles         text[]      NOT NULL,
	created_on    timestamptz NOT NULL DEFAULT now()
);
-- The form that is compared is the form that is indexed: an address is one user, however it is written.
CREATE UNIQUE INDEX users_email ON platform.users (lower(email));

CREATE TABLE platform.sessions (
	token_hash bytea       PRIMARY KEY, -- SHA-256 of the token; the token itself is nowhere
	user_id    uuid        NOT NULL REFERENCES platform.users ON DELETE CASCADE,
	created_on timestamptz NOT NULL DEFAULT now(),
	expires_on timestamptz NOT NULL
);
CREATE INDEX sessions_expires_on ON platform.sessions (expires_on);
CREATE INDEX sessions_user_id ON platform.sessions (user_id);
