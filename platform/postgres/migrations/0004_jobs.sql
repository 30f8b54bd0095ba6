-- What the clock starts: jobs, and what became of each of their occurrences. A job lies in the database of its
-- command's module, so that an occurrence and the command that it schedules commit together.
CREATE TABLE platform.jobs (
	name               text        PRIMARY KEY,
	source             text        NOT NULL,
	command            text        NOT NULL,
	-- What the program says, at its latest start.
	cron               text        NOT NULL,
	time_zone          text        NOT NULL,
	cron_source        text        NOT NULL CHECK (cron_source IN ('code', 'configuration')),
	catch_up           text        NOT NULL CHECK (catch_up IN ('once', 'skip')),
	overlap            text        NOT NULL CHECK (overlap IN ('skip', 'allow')),
	-- What an operator says, which wins.
	operator_cron      text,
	operator_time_zone text,
	enabled            boolean     NOT NULL DEFAULT true,
	note               text,
	changed_by         text,
	changed_on         timestamptz,
	next_run_on        timestamptz, -- null: paused, never, or not understood
	problem            text         -- why the schedule cannot be understood
);
CREATE INDEX jobs_next_run_on ON platform.jobs (next_run_on) WHERE next_run_on IS NOT NULL;

CREATE TABLE platform.job_runs (
	id           uuid        PRIMARY KEY,
	job          text        NOT NULL,
	occurrence   timestamptz NOT NULL, -- the instant that was planned; of a manual run, when it was asked for
	trigger      text        NOT NULL CHECK (trigger IN ('schedule', 'manual')),
	windows      int         NOT NULL DEFAULT 1 CHECK (windows > 0), -- of one that was skipped: how many instants it stands for
	requested_by text,
	reason       text,
	command_id   uuid,
	created_on   timestamptz NOT NULL DEFAULT now(),
	started_on   timestamptz,
	finished_on  timestamptz,
	outcome      text CHECK (outcome IN ('succeeded', 'failed', 'skipped')), -- null until the command has ended
	error        text,
	CHECK ((outcome IS NOT DISTINCT FROM 'skipped') = (command_id IS NULL))
);
-- This is what makes two schedulers decide an occurrence once.
CREATE UNIQUE INDEX job_runs_occurrence ON platform.job_runs (job, occurrence) WHERE trigger = 'schedule';
CREATE INDEX job_runs_job ON platform.job_runs (job, id);
CREATE INDEX job_runs_created_on ON platform.job_runs (created_on);
CREATE INDEX job_runs_open ON platform.job_runs (command_id) WHERE outcome IS NULL OR outcome = 'failed';
