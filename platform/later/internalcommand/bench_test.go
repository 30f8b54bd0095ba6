package internalcommand_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// From the commit that schedules a command to the first line of its handler, with the safety poll an hour away:
// in the replica that committed, and in another one. The third figure is the same way measured in bare
// transactions of the same run (begin, insert a row, commit), so that machines can be compared.
func BenchmarkCommitToStart(b *testing.B) {
	for _, where := range []string{"here", "elsewhere"} {
		b.Run(where, func(b *testing.B) {
			url := postgrestest.URL(b, shop)
			scheduler := newReplica(b, url)
			worker := scheduler
			if where == "elsewhere" {
				worker = newReplica(b, url)
				var bus sync.WaitGroup
				ctx, cancel := context.WithCancel(context.Background())
				bus.Go(func() { _ = scheduler.bus.Run(ctx) })
				b.Cleanup(func() { cancel(); bus.Wait() })
			}
			started := make(chan time.Time, 1)
			worker.onNote = func(context.Context, *postgres.Tx, note) error { started <- time.Now(); return nil }
			stop := worker.run()

			var latencies, bare []time.Duration
			for b.Loop() {
				var committed time.Time
				err := scheduler.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
					tx.AfterCommitOrUnknown(func(context.Context) { committed = time.Now() })
					_, err := scheduler.queue.Schedule(ctx, tx, note{"bench"})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				latencies = append(latencies, (<-started).Sub(committed))
				bare = append(bare, bareTransaction(b, scheduler.source))
			}
			stop()
			slices.Sort(latencies)
			slices.Sort(bare)
			p50, p99 := quantile(latencies, 50), quantile(latencies, 99)
			b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
			b.ReportMetric(float64(p99.Microseconds()), "p99-µs")
			b.ReportMetric(float64(p50)/float64(quantile(bare, 50)), "p50/bare-tx")
		})
	}
}

func bareTransaction(b *testing.B, source *postgres.Source) time.Duration {
	b.Helper()
	began := time.Now()
	postgrestest.Exec(b, source, `INSERT INTO shop.effect VALUES ('bare')`)
	return time.Since(began)
}

func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}
