// Package outbox tells whoever cares that something happened.
//
// A module publishes an event in the transaction of the change:
//
//	outbox.Publish(ctx, tx, salesapi.OrderPaid{OrderID: id, …})
//
// The event and one delivery per subscribed handler commit with the change, or vanish with it. Who has
// subscribed is a table in the publisher's database, so a publisher needs to know nobody:
//
//	outbox.Subscribe(box, source, "conference.on_order_paid", m.onOrderPaid)
//
// Each delivery has its own attempts, error and dead letter; a handler that fails is tried again alone. A
// handler runs in a transaction on its own module's source, and the first thing in it is an inbox row for the
// event and the handler: its effects happen once, however often the delivery is made, wherever the two
// databases are.
//
// No order is promised, neither between events nor between handlers: a handler that cares looks at the state
// of things, not at what the event says it was. A new handler gets what is published from its first start on.
package outbox
