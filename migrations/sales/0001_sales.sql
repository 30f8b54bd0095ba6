CREATE SCHEMA sales;

CREATE TABLE sales.products (
	id          uuid        PRIMARY KEY,
	slug        text        NOT NULL UNIQUE,
	name        text        NOT NULL,
	description text        NOT NULL,
	price       bigint      NOT NULL CHECK (price > 0), -- minor units
	currency    text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
	available   int         NOT NULL CHECK (available >= 0),
	event_id    uuid        NOT NULL,
	created_on  timestamptz NOT NULL DEFAULT now()
);

-- What people call an order. It has one width, so that no number is part of another.
CREATE SEQUENCE sales.order_number MAXVALUE 9999999999;

CREATE TABLE sales.orders (
	id             uuid        PRIMARY KEY,
	number         text        NOT NULL UNIQUE DEFAULT 'T' || lpad(nextval('sales.order_number')::text, 10, '0'),
	customer_id    uuid        NOT NULL,
	status         text        NOT NULL
		CHECK (status IN ('pending_payment', 'payment_initiated', 'payment_failed', 'paid', 'cancelled', 'expired')),
	total          bigint      NOT NULL CHECK (total > 0),
	currency       text        NOT NULL,
	payment_id     uuid,       -- the latest payment; nothing but its outcome may move the order
	failure_reason text,
	created_on     timestamptz NOT NULL DEFAULT now(),
	expires_on     timestamptz NOT NULL,
	version        int         NOT NULL DEFAULT 1
);
CREATE INDEX orders_customer ON sales.orders (customer_id, id);
-- What a sweep for stuck or overdue orders looks at.
CREATE INDEX orders_unpaid ON sales.orders (status, expires_on)
	WHERE status IN ('pending_payment', 'payment_initiated', 'payment_failed');

CREATE TABLE sales.order_lines (
	order_id   uuid   NOT NULL REFERENCES sales.orders,
	position   int    NOT NULL,
	product_id uuid   NOT NULL REFERENCES sales.products,
	name       text   NOT NULL, -- as it was when the order was placed, like the price
	event_id   uuid   NOT NULL,
	quantity   int    NOT NULL CHECK (quantity BETWEEN 1 AND 20),
	unit_price bigint NOT NULL CHECK (unit_price > 0),
	PRIMARY KEY (order_id, position)
);

CREATE TABLE sales.payments (
	id           uuid        PRIMARY KEY, -- also the idempotency key at the gateway
	order_id     uuid        NOT NULL REFERENCES sales.orders,
	method       text        NOT NULL,
	amount       bigint      NOT NULL CHECK (amount > 0),
	currency     text        NOT NULL,
	status       text        NOT NULL CHECK (status IN ('initiated', 'approved', 'declined')),
	reason       text,
	initiated_on timestamptz NOT NULL DEFAULT now(),
	settled_on   timestamptz
);
CREATE INDEX payments_order ON sales.payments (order_id);
