// Package schedule starts work when the clock says so.
//
// A job is a name, a cron expression and an internal command. Registering one is one line, where the module
// registers its commands:
//
//	jobs.Register("audit-trail-cleanup", "0 3 * * *", audit.Cleanup{})
//	jobs.Register("sales.daily_report", "30 7 * * MON-FRI", SendReport{}, schedule.In("Europe/Berlin"))
//
// The clock enqueues, and does nothing else. In one transaction it locks the job's row, records the occurrence
// (unique by job and instant), schedules the command and plans the next run. So an occurrence is decided exactly
// once, by whichever replica comes first, and without a lease; and running it has the retries, the time limit, the fence, the dead
// letter and the console of every internal command. A slow job is a slow command: it delays no other.
//
//   - Calendars are read in the job's time zone; see [Calendar] for the two nights a year that are not like the
//     others. Plans are stored as instants, so a restart between 02:59 and 03:01 neither skips nor repeats 03:00.
//   - What was missed while no scheduler ran is made up for once, by the latest window ([Once]), or not at all
//     ([Skip]). What comes while an earlier run goes on is skipped ([SkipWhileRunning]). Either is recorded.
//   - A [Clock] arms a timer for the next instant, by the database's clock. The poll is a safety net. A plan that was made
//     while that clock was ahead is made anew.
//   - Operators pause a job, give it another schedule ([Schedule.Alter]), or run it out of turn
//     ([Schedule.RunNow]). What they say holds on all replicas at once, and across restarts and deploys, until
//     it is taken back. No change starts anything: the next run is the first instant after it.
//   - A row that cannot be understood is parked and shown with its problem; its neighbours run.
//
// Jobs run as the system principal [Principal], which holds no role.
package schedule
