package channel_test

import (
	"context"
	"fmt"

	"example.com/plenary/platform/later/channel"
)

// Tally is how a poll stands. A later one makes an earlier one worthless, but the final one must be seen.
type Tally struct {
	Room  string
	Votes int
	Final bool
}

func Example() {
	tallies, err := channel.New(channel.Config[Tally]{
		Name:      "poll_tallies",
		Capacity:  2,
		Key:       func(t Tally) (string, bool) { return t.Room, true },
		Protected: func(t Tally) bool { return t.Final },
	})
	if err != nil {
		panic(err)
	}

	// In the transaction of a vote, where tx is a *postgres.Tx, the handler says:
	vote := func(tx channel.Tx, t Tally) { tallies.Enlist(tx, t) }

	var tx pretendTx
	vote(&tx, Tally{Room: "lunch", Votes: 1})
	vote(&tx, Tally{Room: "talks", Votes: 5, Final: true})
	vote(&tx, Tally{Room: "lunch", Votes: 2}) // takes the place of the first
	vote(&tx, Tally{Room: "music", Votes: 9}) // there is no room: the oldest that is not final goes
	fmt.Println("before the commit:", tallies.Stats().Depth)
	tx.commit()

	// Once in the program, with a context that ends when it stops: tallies.Drain(ctx, send).
	send := func(_ context.Context, t Tally) error {
		fmt.Println(t.Room, t.Votes)
		return nil
	}
	n, err := tallies.RunOnce(context.Background(), send)
	fmt.Println(n, err, "and", tallies.Stats().Dropped, "dropped")
	// Output:
	// before the commit: 0
	// talks 5
	// music 9
	// 2 <nil> and 1 dropped
}

// pretendTx stands for a transaction.
type pretendTx struct{ after []func(context.Context) }

func (tx *pretendTx) AfterCommit(fn func(context.Context)) { tx.after = append(tx.after, fn) }

func (tx *pretendTx) commit() {
	for _, fn := range tx.after {
		fn(context.Background())
	}
}
