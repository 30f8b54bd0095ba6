// Package command is the one way in which the state of the system changes.
//
// A command is a value: what to do, with whose data. Its type says what every run of it needs:
//
//	type PlaceOrder struct{ Lines []Line; PaymentMethod string }
//
//	func (PlaceOrder) Policy() command.Policy {
//		return command.Policy{Name: "sales.place_order", Permission: "sales:order", Timeout: 15 * time.Second}
//	}
//	func (c PlaceOrder) Validate() error { … }  // optional
//	func (c PlaceOrder) Evicts() []string { … } // optional: cache keys, dropped after the commit
//
// Registering its handler returns the door: the only function through which the command can be run, because
// the bare handler is unexported. It makes every run go through seven steps, in this order:
//
//	feature gate → permission → logging → cache invalidation → validation → timeout → transaction
//
// HTTP calls the door at once; internalcommand calls the very same door later, on behalf of the one who
// asked. There are two kinds of handler. [Handle] is the default: the pipeline opens the transaction and hands
// it over. [HandleOutside] is for handlers that call the network: no transaction is open around them, they
// open short ones of their own.
//
// What must stand or fall with a handler's transaction, such as the stamp that its deferred run is done, comes
// in through the context as one [Guard] and never reaches the handler.
//
// Queries have their own shorter list (feature gate → permission → logging → caching → timeout, see
// [HandleQuery]), event handlers theirs (logging → timeout → transaction, see [HandleEvent]).
package command
