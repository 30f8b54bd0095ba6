package httpx_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

type key struct {
	On time.Time `json:"on"`
	ID uuid.UUID `json:"id"`
}

func TestPagesCoverEveryRowOnce(t *testing.T) {
	t.Parallel()
	on := time.Date(2026, 1, 1, 0, 0, 0, 123456000, time.UTC) // one instant for all, as in one transaction
	var rows []key
	for i := range 25 {
		rows = append(rows, key{on, uuid.UUID{15: byte(i)}})
	}
	var seen []key
	paging, pages := httpx.Paging{Limit: 10}, 0
	for {
		after, err := httpx.After[key](paging)
		if err != nil {
			t.Fatal(err)
		}
		start := 0
		for after != nil && rows[start] != *after {
			start++
		}
		if after != nil {
			start++
		}
		page, err := httpx.NewPage(paging, rows[start:min(start+paging.Fetch(), len(rows))], func(k key) key { return k })
		if err != nil {
			t.Fatal(err)
		}
		seen, pages = append(seen, page.Items...), pages+1
		if page.NextCursor == nil {
			break
		}
		paging.Cursor = *page.NextCursor
	}
	if diff := cmp.Diff(rows, seen); diff != "" || pages != 3 {
		t.Errorf("%d pages (-want +got):\n%s", pages, diff)
	}
}

func TestLastPageHasNoCursor(t *testing.T) {
	t.Parallel()
	for rows, next := range map[int]bool{0: false, 9: false, 10: false, 11: true} {
		page, err := httpx.NewPage(httpx.Paging{Limit: 10}, make([]key, rows), func(k key) key { return k })
		if err != nil || (page.NextCursor != nil) != next || len(page.Items) != min(rows, 10) {
			t.Errorf("%d rows: %d items, next %v, %v", rows, len(page.Items), page.NextCursor, err)
		}
	}
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	encoded := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	k := `{"on":"2026-01-01T00:00:00Z","id":"019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"}`
	if _, err := httpx.After[key](httpx.Paging{Cursor: encoded(`{"v":1,"k":` + k + `}`)}); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for _, cursor := range []string{
		"hunter2", "=", "%00", encoded(" "), encoded("{}"), encoded("null"), encoded(k),
		encoded(`{"v":2,"k":` + k + `}`), encoded(`{"v":1,"k":{}}`), encoded(`{"v":1,"k":"x"}`), encoded(`{"v":1,"k":` + k + `}x`),
		encoded(`{"v":1,"k":`+k+`}`) + "A", encoded(strings.Replace(`{"v":1,"k":`+k+`}`, "2026", "12026", 1)),
	} {
		_, err := httpx.After[key](httpx.Paging{Cursor: cursor})
		e := fault.As(err)
		if e == nil || e.Kind != fault.Invalid || e.Code != "invalid_cursor" || strings.Contains(fmt.Sprintf("%+v", e), secret) {
			t.Errorf("%s: %+v", cursor, err)
		}
	}
}
