// Package sales sells tickets.
//
// It is the worked example of internal commands. Read it along the story of an order whose payment fails:
//
//	order.go                      what an order is, and how it may change; no database in it
//	place_order.go                a customer orders: one transaction, the gateway, another transaction
//	payment.go                    what is stored around a call to the gateway, and how its outcome is recorded
//	settle_payment.go             the gateway was silent, or we died: ask again, later
//	on_payment_failed.go          the payment was declined: have the customer told, and give them time
//	send_payment_failed_email.go  tell them
//	pay_order.go                  they pay again
//	cancel_order.go               or do not want it any more
//	expire_unpaid_order.go        their time is up: close the order, give the tickets back
//
// and of one that succeeds:
//
//	on_order_paid.go  send_order_confirmation_email.go
//
// Around them: product.go (the catalogue and its stock), money.go, gateway.go (what we ask of a payment
// gateway; package sandbox is one), order_mail.go (all mails about orders), order_view.go (an order as the API
// shows it), the queries list_products.go, get_product.go, list_orders.go, get_order.go, and seed.go (demo
// data). module.go lists it all, by what starts it.
//
// Locks are taken in one order: the order's row, then products by id.
package sales
