// Package later holds the ways to do work after the answer has gone out. It has no code of its own; this page says
// which way a piece of work belongs to.
//
// Ask in this order, and stop at the first yes:
//
//  1. Would losing it cost no more than a screen that is stale until the next change? Then it needs no row: memory
//     will do, bounded, and when that is full the oldest item goes: package channel.
//  2. Does the clock decide, whatever happens in the program ("every night at two")? Then it is a job: a row that
//     remembers the next run, and each occurrence becomes a command: package schedule.
//  3. Has something happened that others may care about, whoever they are? Then it is an event. Who publishes it
//     knows no handler, and each handler succeeds or fails on its own: package outbox.
//  4. Have we decided that something be done, now or at a time, by us? Then it is a command with a due time, run
//     through the same door that HTTP would have called: package internalcommand.
//
// A job's promises are those of its command. 3 and 4 promise this:
//
//	                  an event (outbox)                an internal command (internalcommand)
//	says              this has happened                this is to be done
//	stored            with the change that caused it   with the change that caused it
//	rollback          publishes nothing                schedules nothing
//	starts            after the commit, in moments     after the commit, not before its time
//	who runs it       every subscribed handler, each   one handler, in any replica
//	                  once, in any replica
//	effects           exactly once                     exactly once if it is transactional,
//	                                                   at least once if it calls the network
//	on behalf of      whoever caused it                whoever scheduled it, with the roles held then
//	on failure        that handler again, later,       again, later,
//	                  and at last a dead letter        and at last a dead letter
//	order             none                             none
//	reaches           any module, in any database      the module that scheduled it
//	in Plenary        sales.payment_failed             sales.send_payment_failed_email
//	                  → sales.on_payment_failed        sales.expire_unpaid_order
//
// Two mistakes mirror each other. Work that must happen, kept in memory, is lost without a trace. And a refresh that
// is stored costs a row, a claim and a stamp, and is worth none of them.
//
// An event is not a polite command. "Send the mail", published, hides who is responsible for it; "the payment
// failed" is true whoever listens. Where one module wants another to act, it publishes what happened, and the
// other one schedules its own command in its handler.
//
// Events' deliveries and commands are two tables under one engine, package lease: claims, retries, crashes, dead
// letters and an orderly stop are the same for both.
package later
