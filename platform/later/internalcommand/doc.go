// Package internalcommand runs commands later: not lost, and not before what caused them has committed.
//
// An internal command is an ordinary command. Registering its door makes it possible to defer it:
//
//	m.sendMail = command.HandleOutside(pipeline, source, m.sendPaymentFailedEmail)
//	internalcommand.Register(queue, m.sendMail)
//
// and scheduling it writes a row in the caller's transaction:
//
//	queue.Schedule(ctx, tx, SendPaymentFailedEmail{OrderID: id})
//	queue.Schedule(ctx, tx, ExpireUnpaidOrder{OrderID: id}, internalcommand.After(30*time.Minute))
//
// If the transaction rolls back, nothing was scheduled. If it commits, the command starts at its time, within
// moments, in this replica or another, through the very door that it would go through inline, on behalf of
// whoever scheduled it, under the roles held then.
//
// A transactional command takes effect exactly once: its row is stamped as done in the transaction of its
// effects. One that runs outside a transaction runs at least once: should the process die between the effect
// and the stamp, it runs again, with the same command.RunID. Package lease tells the details.
//
// A handler that cannot do its work yet returns [PutOff], and comes back when it says; that is no failure.
//
// A module schedules only its own commands, so that a row lies in the database of its cause. What another
// module should do, that module learns from an event; see package outbox.
package internalcommand
