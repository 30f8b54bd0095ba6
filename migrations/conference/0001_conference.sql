CREATE SCHEMA conference;

CREATE TABLE conference.events (
	id         uuid        PRIMARY KEY,
	slug       text        NOT NULL UNIQUE,
	name       text        NOT NULL,
	starts_on  timestamptz NOT NULL,
	ends_on    timestamptz NOT NULL CHECK (ends_on >= starts_on),
	time_zone  text        NOT NULL,
	created_on timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE conference.sessions (
	id           uuid        PRIMARY KEY,
	event_id     uuid        NOT NULL REFERENCES conference.events,
	title        text        NOT NULL,
	abstract     text        NOT NULL,
	speaker_name text        NOT NULL,
	proposed_by  uuid        NOT NULL,
	status       text        NOT NULL DEFAULT 'proposed' CHECK (status IN ('proposed', 'selected', 'declined')),
	starts_on    timestamptz,
	created_on   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sessions_event ON conference.sessions (event_id, id);

-- One row a ticket. Seat tells the tickets of one order apart.
CREATE TABLE conference.registrations (
	id          uuid        PRIMARY KEY,
	event_id    uuid        NOT NULL,
	order_id    uuid        NOT NULL,
	seat        int         NOT NULL CHECK (seat > 0),
	attendee_id uuid        NOT NULL,
	status      text        NOT NULL DEFAULT 'confirmed' CHECK (status IN ('confirmed')),
	created_on  timestamptz NOT NULL DEFAULT now(),
	UNIQUE (order_id, event_id, seat)
);
CREATE INDEX registrations_attendee ON conference.registrations (attendee_id, id);

-- One row a pass, and one only however often the pass was interrupted: its id is that of the command behind it.
CREATE TABLE conference.scoring_passes (
	id         uuid        PRIMARY KEY,
	event_id   uuid        NOT NULL REFERENCES conference.events,
	total      int         NOT NULL, -- sessions that it is about
	done       int         NOT NULL DEFAULT 0,
	failed     int         NOT NULL DEFAULT 0, -- of those that are done
	lost       int         NOT NULL DEFAULT 0, -- calls under way when the process died: perhaps paid for, and made again
	started_on timestamptz NOT NULL DEFAULT clock_timestamp(),
	ended_on   timestamptz
);
CREATE INDEX scoring_passes_event ON conference.scoring_passes (event_id, started_on);

-- One row a call to the model, written before the call is made.
CREATE TABLE conference.scoring_calls (
	id             uuid        PRIMARY KEY,
	pass_id        uuid        NOT NULL REFERENCES conference.scoring_passes,
	session_id     uuid        NOT NULL REFERENCES conference.sessions,
	model          text        NOT NULL,
	prompt_name    text        NOT NULL,
	prompt_version int         NOT NULL,
	began_on       timestamptz NOT NULL DEFAULT clock_timestamp(),
	ended_on       timestamptz,
	outcome        text,       -- "scored", "lost", or the code of the fault; null while it is under way
	input_tokens   bigint      NOT NULL DEFAULT 0,
	output_tokens  bigint      NOT NULL DEFAULT 0
);
CREATE INDEX scoring_calls_session ON conference.scoring_calls (session_id);
CREATE INDEX scoring_calls_open ON conference.scoring_calls (pass_id) WHERE outcome IS NULL;

CREATE TABLE conference.scores (
	session_id     uuid         PRIMARY KEY REFERENCES conference.sessions,
	event_id       uuid         NOT NULL REFERENCES conference.events,
	relevance      int          NOT NULL,
	depth          int          NOT NULL,
	practicality   int          NOT NULL,
	originality    int          NOT NULL,
	clarity        int          NOT NULL,
	feasibility    int          NOT NULL,
	penalty        numeric(3,2) NOT NULL,
	overall        numeric(3,1) NOT NULL CHECK (overall BETWEEN 1 AND 10),
	reasoning      text         NOT NULL,
	model          text         NOT NULL,
	prompt_name    text         NOT NULL,
	prompt_version int          NOT NULL,
	prompt_hash    text         NOT NULL,
	scored_on      timestamptz  NOT NULL DEFAULT now()
);
CREATE INDEX scores_event ON conference.scores (event_id, overall DESC, session_id);
