CREATE SCHEMA engagement;

-- A room is never updated: what changes in it is counted where it changes, so that no row is everybody's.
CREATE TABLE engagement.rooms (
	id         uuid        PRIMARY KEY,
	session_id uuid        NOT NULL CONSTRAINT rooms_session UNIQUE,
	event_id   uuid        NOT NULL,
	title      text        NOT NULL,
	code       text        NOT NULL CONSTRAINT rooms_code UNIQUE CHECK (code ~ '^[CDFGHJKMNPQRTWXY3479]{6}$'),
	created_on timestamptz NOT NULL DEFAULT now()
);

-- The users who have joined. Voters without an account carry their proof with them.
CREATE TABLE engagement.members (
	room_id   uuid        NOT NULL REFERENCES engagement.rooms,
	user_id   uuid        NOT NULL,
	joined_on timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (room_id, user_id)
);

CREATE TABLE engagement.polls (
	id                   uuid        PRIMARY KEY,
	room_id              uuid        NOT NULL REFERENCES engagement.rooms,
	question             text        NOT NULL CHECK (char_length(question) BETWEEN 1 AND 200),
	multiple             boolean     NOT NULL,
	status               text        NOT NULL CHECK (status IN ('draft', 'open', 'closed')),
	closes_after_seconds int         CHECK (closes_after_seconds > 0),
	closes_on            timestamptz, -- planned; from the opening on
	closed_on            timestamptz, -- done; no ballot has changed after it
	version              bigint      NOT NULL DEFAULT 1,
	created_on           timestamptz NOT NULL DEFAULT now(),
	UNIQUE (id, multiple),
	CHECK ((status = 'closed') = (closed_on IS NOT NULL))
);
CREATE INDEX polls_room ON engagement.polls (room_id, id);
-- What the nightly sweep looks at: polls whose end was missed.
CREATE INDEX polls_open ON engagement.polls (closes_on) WHERE status = 'open';

CREATE TABLE engagement.poll_options (
	poll_id     uuid    NOT NULL,
	id          uuid    NOT NULL,
	multiple    boolean NOT NULL, -- the poll's, for the ballots to refer to
	position    int     NOT NULL,
	text        text    NOT NULL CHECK (char_length(text) BETWEEN 1 AND 100),
	final_votes int,    -- as counted when the poll was closed; what the nightly recount compares with
	PRIMARY KEY (poll_id, id, multiple),
	UNIQUE (poll_id, position),
	FOREIGN KEY (poll_id, multiple) REFERENCES engagement.polls (id, multiple)
);

-- A ballot is the set of a voter's rows that stand. What was taken back stays as a row that does not: changes only
-- ever rises, so that its sum over a poll is a version of the tally, in whatever order transactions commit.
--
-- The one foreign key says that the option belongs to the poll and that multiple is the poll's. It leads to the
-- option and not to the poll's row, which no vote ever touches.
CREATE TABLE engagement.ballots (
	poll_id    uuid        NOT NULL,
	voter      uuid        NOT NULL, -- a user, or somebody who is nobody outside of this room
	option_id  uuid        NOT NULL,
	multiple   boolean     NOT NULL,
	stands     boolean     NOT NULL DEFAULT true,
	changes    int         NOT NULL DEFAULT 1,
	changed_on timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (poll_id, voter, option_id),
	FOREIGN KEY (poll_id, option_id, multiple) REFERENCES engagement.poll_options (poll_id, id, multiple)
);
CREATE UNIQUE INDEX ballots_single ON engagement.ballots (poll_id, voter) WHERE stands AND NOT multiple;
-- How many voters there are where a ballot may have several rows.
CREATE INDEX ballots_multiple ON engagement.ballots (poll_id, voter) WHERE stands AND multiple;

-- An open question occupies one of its voter's ten slots: that there are no more than ten is a constraint.
CREATE TABLE engagement.questions (
	id          uuid        PRIMARY KEY,
	room_id     uuid        NOT NULL REFERENCES engagement.rooms,
	voter       uuid        NOT NULL, -- never shown
	slot        int         NOT NULL CHECK (slot BETWEEN 1 AND 10),
	text        text        NOT NULL CHECK (char_length(text) BETWEEN 1 AND 500),
	status      text        NOT NULL CHECK (status IN ('pending', 'approved', 'answered', 'dismissed')),
	approved_on timestamptz, -- from then on its text is no secret
	version     bigint      NOT NULL DEFAULT 1,
	created_on  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX questions_room ON engagement.questions (room_id, status);
CREATE UNIQUE INDEX questions_cap ON engagement.questions (room_id, voter, slot) WHERE status IN ('pending', 'approved');

-- As with ballots, what was taken back stays, so that the sum of changes only ever rises.
CREATE TABLE engagement.upvotes (
	question_id uuid    NOT NULL REFERENCES engagement.questions,
	voter       uuid    NOT NULL,
	stands      boolean NOT NULL DEFAULT true,
	changes     int     NOT NULL DEFAULT 1,
	PRIMARY KEY (question_id, voter)
);
