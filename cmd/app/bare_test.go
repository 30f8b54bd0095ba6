package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/plenary/modules/sales"
	"example.com/plenary/modules/sales/salesapi"
	"example.com/plenary/modules/sales/sandbox"
	"example.com/plenary/platform/httpx"
)

// bare places and shows orders with chi and pgx and nothing else. It sends the same statements in as many round trips
// as the program does, for the same rows, and asks the same gateway. It has no validation to speak of, no limits, no
// log, no metrics, no timeouts, no correlation, no problem documents, no retries: it is what those are compared with.
type bare struct {
	pool    *pgxpool.Pool
	gateway *sandbox.Gateway
}

func (b *bare) handler() http.Handler {
	r := chi.NewRouter()
	r.Post("/api/v1/sales/orders", b.postOrder)
	r.Get("/api/v1/sales/orders", b.getOrders)
	r.Get("/api/v1/sales/orders/{id}", b.getOrder)
	return r
}

var errNobody = errors.New("nobody")

func (b *bare) user(r *http.Request) (id uuid.UUID, roles []string, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return id, nil, errNobody
	}
	sum := sha256.Sum256([]byte(token))
	err = b.pool.QueryRow(r.Context(), `
		SELECT u.id, u.roles FROM platform.sessions s JOIN platform.users u ON u.id = s.user_id
		WHERE s.token_hash = $1 AND s.expires_on > now()`, sum[:]).Scan(&id, &roles)
	return id, roles, err
}

type bareOrder struct {
	Lines []struct {
		ProductID uuid.UUID `json:"productId"`
		Quantity  int       `json:"quantity"`
	} `json:"lines"`
	PaymentMethod string `json:"paymentMethod"`
}

func (b *bare) postOrder(w http.ResponseWriter, r *http.Request) {
	user, roles, err := b.user(r)
	if err != nil {
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	var in bareOrder
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Lines) != 1 {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	v := sales.OrderView{ID: uuid.Must(uuid.NewV7()), CustomerID: user, Status: sales.Paid}
	c := sales.Charge{PaymentID: uuid.Must(uuid.NewV7()), OrderID: v.ID, Method: in.PaymentMethod}
	event, err := b.open(r.Context(), &v, &c, in, roles)
	if err == nil {
		_, err = b.gateway.Charge(r.Context(), c)
	}
	if err == nil {
		err = b.settle(r.Context(), &v, c, event, roles)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/api/v1/sales/orders/"+v.ID.String())
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(v)
}

const bareCommand = `
	INSERT INTO platform.internal_commands (id, source, name, payload, payload_version, scheduled_on, next_attempt_on,
		max_attempts, user_id, roles, tenant, correlation_id, trace_parent)
	SELECT $1, $2, $3, $4, $5, due, due, $8, nullif($9, ''), coalesce($10::text[], '{}'), nullif($11, ''), nullif($12, ''), nullif($13, '')
	FROM (SELECT greatest(now(), coalesce($6, now() + $7::interval)) AS due) AS d`

// open stores the order, its payment and what is to happen later.
func (b *bare) open(ctx context.Context, v *sales.OrderView, c *sales.Charge, in bareOrder, roles []string) (event uuid.UUID, err error) {
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return event, err
	}
	defer tx.Rollback(ctx)
	l := sales.LineView{Quantity: in.Lines[0].Quantity}
	var slug, description string
	var available int
	rows, err := tx.Query(ctx, `SELECT id, slug, name, description, price, currency, available, event_id FROM sales.products WHERE id = ANY($1)`,
		[]uuid.UUID{in.Lines[0].ProductID})
	if err != nil {
		return event, err
	}
	_, err = pgx.ForEachRow(rows, []any{&l.ProductID, &slug, &l.Name, &description, &l.UnitPrice.Amount, &l.UnitPrice.Currency, &available, &event}, func() error { return nil })
	if err != nil {
		return event, err
	}
	if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&v.CreatedOn); err != nil {
		return event, err
	}
	l.Total = sales.Money{Amount: l.UnitPrice.Amount * int64(l.Quantity), Currency: l.UnitPrice.Currency}
	v.Lines, v.Total, v.ExpiresOn, v.Version = []sales.LineView{l}, l.Total, v.CreatedOn.Add(30*time.Minute), 1
	c.Amount = v.Total
	if _, err := tx.Exec(ctx, `UPDATE sales.products SET available = available - $2 WHERE id = $1 AND available >= $2`, l.ProductID, l.Quantity); err != nil {
		return event, err
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO sales.orders (id, customer_id, status, total, currency, payment_id, created_on, expires_on)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING number`,
		v.ID, v.CustomerID, sales.PaymentInitiated, v.Total.Amount, v.Total.Currency, c.PaymentID, v.CreatedOn, v.ExpiresOn).Scan(&v.Number)
	if err != nil {
		return event, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO sales.order_lines (order_id, position, product_id, event_id, name, quantity, unit_price)
		SELECT $1, position, product_id, event_id, name, quantity, unit_price
		FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::bigint[])
			WITH ORDINALITY AS l(product_id, event_id, name, quantity, unit_price, position)`,
		v.ID, []uuid.UUID{l.ProductID}, []uuid.UUID{event}, []string{l.Name}, []int32{int32(l.Quantity)}, []int64{l.UnitPrice.Amount})
	if err != nil {
		return event, err
	}
	if err := b.audit(ctx, tx, v, "added", `[{"property":"status","old":null,"new":"payment_initiated"}]`); err != nil {
		return event, err
	}
	payload, _ := json.Marshal(sales.ExpireUnpaidOrder{OrderID: v.ID})
	if err := b.command(ctx, tx, "sales.expire_unpaid_order", payload, &v.ExpiresOn, 0, 5, v.CustomerID, roles); err != nil {
		return event, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO sales.payments (id, order_id, method, amount, currency, status) VALUES ($1, $2, $3, $4, $5, 'initiated')`,
		c.PaymentID, c.OrderID, c.Method, c.Amount.Amount, c.Amount.Currency)
	if err != nil {
		return event, err
	}
	payload, _ = json.Marshal(sales.SettlePayment{PaymentID: c.PaymentID})
	if err := b.command(ctx, tx, "sales.settle_payment", payload, nil, 7*time.Second, 100, v.CustomerID, roles); err != nil {
		return event, err
	}
	return event, tx.Commit(ctx)
}

func (b *bare) command(ctx context.Context, tx pgx.Tx, name string, payload []byte, at *time.Time, after time.Duration, attempts int, user uuid.UUID, roles []string) error {
	_, err := tx.Exec(ctx, bareCommand, uuid.Must(uuid.NewV7()), "sales", name, payload, 1, at, after, attempts, user.String(), roles, "", "", "")
	return err
}

// settle records the payment's outcome.
func (b *bare) settle(ctx context.Context, v *sales.OrderView, c sales.Charge, event uuid.UUID, roles []string) error {
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := b.order(ctx, tx, v.ID, " FOR NO KEY UPDATE"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE sales.payments SET status = $2, reason = nullif($3, ''), settled_on = now() WHERE id = $1 AND status = 'initiated'`,
		c.PaymentID, "approved", "")
	if err != nil {
		return err
	}
	payload, _ := json.Marshal(salesapi.OrderPaid{OrderID: v.ID, CustomerID: v.CustomerID, Tickets: []salesapi.Tickets{{EventID: event, Quantity: v.Lines[0].Quantity}}})
	_, err = tx.Exec(ctx, `
		WITH event AS (
			INSERT INTO platform.events (id, source, name, payload, payload_version, user_id, roles, tenant, correlation_id, trace_parent)
			VALUES ($1, $2, $3, $4, $5, nullif($6, ''), coalesce($7::text[], '{}'), nullif($8, ''), nullif($9, ''), nullif($10, ''))
			RETURNING id, name, payload_version)
		INSERT INTO platform.deliveries (event_id, event, name, payload_version, max_attempts)
		SELECT event.id, event.name, s.handler, event.payload_version, s.max_attempts
		FROM event JOIN platform.subscriptions s ON s.event = event.name`,
		uuid.Must(uuid.NewV7()), "sales", "sales.order_paid", payload, 1, v.CustomerID.String(), roles, "", "", "")
	if err != nil {
		return err
	}
	err = tx.QueryRow(ctx, `
		UPDATE sales.orders SET status = $2, payment_id = $3, failure_reason = nullif($4, ''), expires_on = $5, version = version + 1
		WHERE id = $1 RETURNING version`, v.ID, sales.Paid, c.PaymentID, "", v.ExpiresOn).Scan(&v.Version)
	if err != nil {
		return err
	}
	if err := b.audit(ctx, tx, v, "modified", `[{"property":"status","old":"payment_initiated","new":"paid"}]`); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func (b *bare) audit(ctx context.Context, tx pgx.Tx, v *sales.OrderView, operation, changes string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO platform.audit_entries (id, source, entity_type, entity_key, operation, changes,
			changed_by, correlation_id, tenant)
		VALUES ($1, $2, $3, $4, $5, $6, nullif($7, ''), nullif($8, ''), nullif($9, ''))`,
		uuid.Must(uuid.NewV7()), "sales", "sales.order", v.ID.String(), operation, []byte(changes), v.CustomerID.String(), "", "")
	return err
}

// bareOrderColumns are those of bareOrderRow.
const bareOrderColumns = `o.id, o.number, o.customer_id, o.status, o.total, o.currency, o.payment_id, coalesce(o.failure_reason, ''),
	o.created_on, o.expires_on, o.version`

func bareOrderRow(row pgx.CollectableRow) (v sales.OrderView, err error) {
	var payment *uuid.UUID
	var reason string
	err = row.Scan(&v.ID, &v.Number, &v.CustomerID, &v.Status, &v.Total.Amount, &v.Total.Currency, &payment, &reason, &v.CreatedOn, &v.ExpiresOn, &v.Version)
	return v, err
}

// getOrders answers with the first page of the caller's orders.
func (b *bare) getOrders(w http.ResponseWriter, r *http.Request) {
	user, _, err := b.user(r)
	if err != nil {
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	rows, err := b.pool.Query(r.Context(), `
		SELECT `+bareOrderColumns+` FROM sales.orders o
		WHERE ($1::uuid IS NULL OR o.customer_id = $1) AND ($2 = '' OR o.status = $2)
			AND ($3::uuid = '00000000-0000-0000-0000-000000000000' OR o.id < $3)
		ORDER BY o.id DESC LIMIT $4`, user, "", uuid.Nil, limit+1)
	var page httpx.Page[sales.OrderView]
	if err == nil {
		page.Items, err = pgx.CollectRows(rows, bareOrderRow)
	}
	if err == nil && len(page.Items) > limit {
		page.Items = page.Items[:limit]
		last, _ := page.Items[limit-1].ID.MarshalText()
		next := base64.RawURLEncoding.EncodeToString(last)
		page.NextCursor = &next
	}
	if err == nil {
		err = b.attachLines(r.Context(), b.pool, page.Items)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}

type bareReader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (b *bare) getOrder(w http.ResponseWriter, r *http.Request) {
	user, _, err := b.user(r)
	if err != nil {
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	id, err := uuid.Parse(chi.URLParam(r, "id"))
	if err != nil {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	v, err := b.order(r.Context(), b.pool, id, "")
	if err != nil || v.CustomerID != user {
		http.Error(w, "", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (b *bare) order(ctx context.Context, db bareReader, id uuid.UUID, lock string) (v sales.OrderView, err error) {
	rows, err := db.Query(ctx, `SELECT `+bareOrderColumns+` FROM sales.orders o WHERE o.id = $1`+lock, id)
	if err != nil {
		return v, err
	}
	if v, err = pgx.CollectExactlyOneRow(rows, bareOrderRow); err != nil {
		return v, err
	}
	one := []sales.OrderView{v}
	err = b.attachLines(ctx, db, one)
	return one[0], err
}

func (b *bare) attachLines(ctx context.Context, db bareReader, orders []sales.OrderView) error {
	ids := make([]uuid.UUID, len(orders))
	for i, v := range orders {
		ids[i] = v.ID
	}
	rows, err := db.Query(ctx, `
		SELECT order_id, product_id, event_id, name, quantity, unit_price
		FROM sales.order_lines WHERE order_id = ANY($1) ORDER BY order_id, position`, ids)
	if err != nil {
		return err
	}
	var order, event uuid.UUID
	var l sales.LineView
	_, err = pgx.ForEachRow(rows, []any{&order, &l.ProductID, &event, &l.Name, &l.Quantity, &l.UnitPrice.Amount}, func() error {
		v := &orders[slices.IndexFunc(orders, func(v sales.OrderView) bool { return v.ID == order })]
		l.UnitPrice.Currency = v.Total.Currency
		l.Total = sales.Money{Amount: l.UnitPrice.Amount * int64(l.Quantity), Currency: l.UnitPrice.Currency}
		v.Lines = append(v.Lines, l)
		return nil
	})
	return err
}
