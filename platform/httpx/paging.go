package httpx

import (
	"context"
	"encoding/base64"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

// Page is one page of a list. NextCursor is null on the last.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor" doc:"Pass it as cursor to get the next page; null on the last"`
}

// Paging is embedded in the input of a list.
type Paging struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many items at most"`
	Cursor string `query:"cursor" maxLength:"1024" doc:"nextCursor of the page before"`
}

// cursor is the key of a page's last row: where the next page begins does not move when rows are added.
type cursor[K any] struct {
	Version int `json:"v"`
	Key     K   `json:"k"`
}

const cursorVersion = 1

// After returns the key after which the page begins, nil for the first page. K is a struct with every column of
// the order, down to a unique one. A cursor that we did not hand out is an Invalid fault ("invalid_cursor").
func After[K any](p Paging) (*K, error) {
	if p.Cursor == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(p.Cursor)
	var c cursor[K]
	if err == nil {
		err = strictjson.Decode(data, &c, strictjson.RequireMembers())
	}
	if err != nil || c.Version != cursorVersion {
		return nil, &fault.Error{
			Kind: fault.Invalid, Code: "invalid_cursor", Message: "the cursor is not valid",
			Fields: []fault.Field{{Path: "cursor", Code: "invalid_cursor", Message: "is not one that this list gave"}},
		}
	}
	return &c.Key, nil
}

// Fetch is how many rows to read: one more than are shown tells whether there is a next page.
func (p Paging) Fetch() int { return p.Limit + 1 }

// NewPage makes a page of the rows that were fetched; key returns a row's place in the order.
func NewPage[T, K any](p Paging, rows []T, key func(T) K) (Page[T], error) {
	if len(rows) <= p.Limit {
		return Page[T]{Items: rows}, nil
	}
	rows = rows[:p.Limit]
	data, err := strictjson.Encode(cursor[K]{Version: cursorVersion, Key: key(rows[len(rows)-1])})
	if err != nil {
		return Page[T]{}, err
	}
	next := base64.RawURLEncoding.EncodeToString(data)
	return Page[T]{Items: rows, NextCursor: &next}, nil
}

// ByID answers one page of a list whose order is the id, descending. list returns at most limit rows below the id
// after; the zero id is the start.
func ByID[T any](ctx context.Context, p Paging, list func(ctx context.Context, limit int, after uuid.UUID) ([]T, error),
	idOf func(T) uuid.UUID,
) (Response[Page[T]], error) {
	after, err := After[uuid.UUID](p)
	if err != nil {
		return Response[Page[T]]{}, err
	}
	if after == nil {
		after = &uuid.UUID{}
	}
	rows, err := list(ctx, p.Fetch(), *after)
	if err != nil {
		return Response[Page[T]]{}, err
	}
	page, err := NewPage(p, rows, idOf)
	return OK(page), err
}
