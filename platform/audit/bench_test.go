package audit_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/postgres"
)

var purgeRows = flag.Int("purge-rows", 1_000_000, "old entries for BenchmarkPurgeUnderWrites; a tenth of them with -short")

// A purge of a large old trail while four writers each record a change every five milliseconds: the longest that one of them had
// to wait for its whole transaction, and how fast the purge was. The longest of an equally long time without a
// purge comes with it, so that machines can be compared.
//
//	go test -run '^$' -bench PurgeUnderWrites -benchtime 1x ./platform/audit
func BenchmarkPurgeUnderWrites(b *testing.B) {
	rows := *purgeRows
	if testing.Short() {
		rows /= 10
	}
	for b.Loop() {
		b.StopTimer()
		place := open(b)
		conn := session(b, place, "owner")
		run(b, conn, `
			INSERT INTO platform.audit_entries (id, source, entity_type, entity_key, operation, changes, changed_by, changed_on, correlation_id)
			SELECT gen_random_uuid(), 'shop', 'shop.item', i::text, 'modified', '[{"property": "price", "old": 5, "new": 6}]',
				'user-' || i % 1000, now() - interval '100 days' - i * interval '1 second', 'c-' || i
			FROM generate_series(1, $1::int) AS i`, rows)
		run(b, conn, `VACUUM ANALYZE platform.audit_entries`)
		run(b, session(b, place, "superuser"), `CHECKPOINT`)
		c, _ := cleaner(b, place)

		stop := stalls(b, place)
		b.StartTimer()
		began := time.Now()
		if err := c.Clean(context.Background(), audit.Cleanup{}); err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		b.StopTimer()
		longest, written := stop()
		if left := count(b, place); left != written {
			b.Fatalf("%d entries are left, %d were written meanwhile", left, written)
		}
		stop = stalls(b, place)
		<-time.After(min(took, 10*time.Second))
		idle, _ := stop()
		b.StartTimer()

		b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest-stall")
		b.ReportMetric(float64(idle.Microseconds())/1000, "ms-longest-without")
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		b.ReportMetric(float64(written)/took.Seconds(), "writes/s")
	}
}

// stalls lets four writers work until stop, which tells how long their slowest transaction took and how many there
// were.
func stalls(b *testing.B, place *postgres.Source) (stop func() (longest time.Duration, written int)) {
	var mu sync.Mutex
	var longest time.Duration
	var written int
	var writers sync.WaitGroup
	end := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			pace := time.NewTicker(5 * time.Millisecond)
			defer pace.Stop()
			for i := 0; ; i++ {
				select {
				case <-end:
					return
				case <-pace.C:
				}
				began := time.Now()
				err := place.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
					return audit.Modified(ctx, tx, "shop.item", fmt.Sprint(w, "|", i), item{"cup", 5}, item{"cup", 6})
				})
				took := time.Since(began)
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				longest, written = max(longest, took), written+1
				mu.Unlock()
			}
		})
	}
	return func() (time.Duration, int) {
		close(end)
		writers.Wait()
		return longest, written
	}
}
