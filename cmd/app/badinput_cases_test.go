package main

import (
	"slices"
	"strings"
)

const (
	pass  = "01936d10-0000-7000-8000-000000000101" // a product
	admin = "ada@example.com"
)

// badInputs are the cases, by where the fault lies.
func badInputs(o order) []bad {
	return slices.Concat(badBodies(), badOrders(), badLogins(), badIDs(o), badQueries(), badHeaders(o), badTargets(), badConsole(), forbidden(o))
}

// badIDs are what stands for an id in a path.
func badIDs(o order) []bad {
	var cases []bad
	for name, id := range map[string]string{
		"a number": "27", "undefined": "undefined", "null": "null", "a word": marker, "braces": "%7B" + o.ID + "%7D",
		"no hyphens": strings.ReplaceAll(o.ID, "-", ""), "URN": "urn:uuid:" + o.ID, "too short": o.ID[1:], "too long": o.ID + "0",
		"NUL": "%00", "NUL at the end": o.ID[:35] + "%00", "invalid UTF-8": "%ff", "dots": "%2e%2e%2f", "an encoded slash": "a%2fb",
		"a quote": "%27--", "a blank": "%20", "letters past f": strings.Replace(o.ID, "0", "g", 1), "full-width digits": "%EF%BC%91" + o.ID[1:],
	} {
		c := bad{name: "id: " + name, method: "GET", target: "/sales/orders/" + id, code: "invalid_id", field: "id", about: "invalid_id"}
		if strings.Contains(name, "NUL") || name == "invalid UTF-8" {
			c.code, c.about = "invalid_input", "invalid_text"
		}
		cases = append(cases, c)
	}
	return append(cases,
		bad{name: "id of nothing", method: "GET", target: "/sales/orders/" + pass, status: 404, code: "sales.order_not_found"},
		bad{name: "id of zeros", method: "GET", target: "/sales/orders/00000000-0000-0000-0000-000000000000", status: 404, code: "sales.order_not_found"},
		bad{name: "id of no product", method: "GET", target: "/sales/products/" + o.ID, status: 404, code: "sales.product_not_found"},
		bad{name: "no id", method: "GET", target: "/sales/orders/", status: 404, code: "not_found"},
		bad{name: "id and more", method: "GET", target: "/sales/orders/" + o.ID + "/" + marker, status: 404, code: "not_found"},
		bad{name: "payment of a bad id", target: "/sales/orders/27/payments", body: `{"paymentMethod":"tok_visa"}`, code: "invalid_id"},
		bad{name: "cancellation of a bad id", target: "/sales/orders/27/cancellation", code: "invalid_id"},
	)
}

func badQueries() []bad {
	query := func(query, field, about string) bad {
		return bad{name: "?" + query, method: "GET", target: "/sales/orders?" + query, field: field, about: about}
	}
	cursor := query("cursor="+marker, "cursor", "invalid_cursor")
	forged := query("cursor=eyJ2IjoxLCJrIjoiMDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMDAwIiwieCI6MX0", "cursor", "invalid_cursor")
	padded := query("cursor=eyJ2IjoxfQ==", "cursor", "invalid_cursor")
	cursor.code, forged.code, padded.code = "invalid_cursor", "invalid_cursor", "invalid_cursor"
	return []bad{
		query("limit=0", "limit", "out_of_range"),
		query("limit=-1", "limit", "out_of_range"),
		query("limit=201", "limit", "out_of_range"),
		query("limit=99999999999999999999", "limit", "out_of_range"),
		query("limit=1e9", "limit", "wrong_type"),
		query("limit=1.0", "limit", "wrong_type"),
		query("limit=%2B5", "limit", "wrong_type"),
		query("limit=0x10", "limit", "wrong_type"),
		query("limit="+marker, "limit", "wrong_type"),
		query("limit=%D9%A1", "limit", "wrong_type"),
		query("limit=1&limit=2", "limit", "duplicate"),
		query("status="+marker, "status", "unknown_value"),
		query("status=Paid", "status", "unknown_value"),
		query("status=paid%00", "", "invalid_text"),
		query("Status=paid", "", "unknown_parameter"),
		query(marker+"=1", "", "unknown_parameter"),
		query("sort=;drop", "", "invalid_query"),
		query("limit=%zz", "", "invalid_query"),
		query("%ff=1", "", "invalid_text"),
		query("status=%ed%a0%80", "", "invalid_text"),
		query("cursor="+strings.Repeat("a", 1025), "cursor", "too_long"),
		cursor, forged, padded,
		{name: "query where none is known", target: "/sales/orders?" + marker + "=1", body: body("1"), about: "unknown_parameter"},
		{name: "query at an id", method: "GET", target: "/sales/products/" + pass + "?expand=" + marker, about: "unknown_parameter"},
	}
}

func badHeaders(o order) []bad {
	cancel := func(name string, status int, code string, header ...string) bad {
		return bad{name: name, target: "/sales/orders/" + o.ID + "/cancellation", header: header, status: status, code: code}
	}
	me := func(name, authorization, code string) bad {
		return bad{name: name, who: "-", method: "GET", target: "/auth/me", header: []string{"Authorization", authorization}, status: 401, code: code}
	}
	return []bad{
		cancel("If-Match without quotes", 400, "invalid_input", "If-Match", "1"),
		cancel("If-Match half quoted", 400, "invalid_input", "If-Match", `"1`),
		cancel("If-Match a list", 400, "invalid_input", "If-Match", `"1", "2"`),
		cancel("If-Match twice", 400, "invalid_input", "If-Match", `"1"`, "If-Match", `"2"`),
		cancel("If-Match a word", 400, "invalid_input", "If-Match", marker),
		cancel("If-Match invalid UTF-8", 400, "invalid_input", "If-Match", "\"\xff\""),
		cancel("If-Match stale", 412, "stale_version", "If-Match", `"999"`),
		cancel("If-Match of another time", 412, "stale_version", "If-Match", `"`+marker+`"`),
		cancel("If-Match weak", 412, "stale_version", "If-Match", `W/"1"`),
		cancel("If-Match past 64 bits", 412, "stale_version", "If-Match", `"99999999999999999999"`),
		cancel("Idempotency-Key empty", 400, "invalid_idempotency_key", "Idempotency-Key", ""),
		cancel("Idempotency-Key too long", 400, "invalid_idempotency_key", "Idempotency-Key", strings.Repeat("k", 256)),
		cancel("Idempotency-Key not ASCII", 400, "invalid_idempotency_key", "Idempotency-Key", "schlüssel"),
		cancel("Idempotency-Key with a tab", 400, "invalid_idempotency_key", "Idempotency-Key", "a\tb"),
		cancel("Idempotency-Key twice", 400, "invalid_idempotency_key", "Idempotency-Key", "a", "Idempotency-Key", "b"),
		me("no token", "", "unauthenticated"),
		me("empty token", "Bearer ", "invalid_token"),
		me("unknown token", "Bearer "+marker, "invalid_token"),
		me("two tokens", "Bearer a b", "invalid_token"),
		me("token not ASCII", "Bearer \xff\xfe", "invalid_token"),
		me("huge token", "Bearer "+strings.Repeat("a", 10_000), "invalid_token"),
		me("another scheme", "Basic "+marker, "unauthenticated"),
		{name: "cookie of nobody", who: "-", method: "GET", target: "/auth/me", header: []string{"Cookie", "plenary_session=" + marker}, status: 401, code: "unauthenticated"},
		{name: "cookie not ASCII", who: "-", method: "GET", target: "/auth/me", header: []string{"Cookie", "plenary_session=\xff"}, status: 401, code: "unauthenticated"},
		{name: "correlation id with NUL", method: "GET", target: "/nothing", header: []string{"X-Correlation-Id", marker + "%00"}, status: 404, code: "not_found"},
		{name: "correlation id of markup", method: "GET", target: "/nothing", header: []string{"X-Correlation-Id", "<b>" + marker}, status: 404, code: "not_found"},
		{name: "correlation id too long", method: "GET", target: "/nothing", header: []string{"X-Correlation-Id", strings.Repeat(marker, 10)}, status: 404, code: "not_found"},
		{name: "trace of nonsense", method: "GET", target: "/nothing", header: []string{"Traceparent", marker, "Tracestate", marker}, status: 404, code: "not_found"},
		{name: "another site", who: "-", target: "/sales/orders", body: body("1"), header: []string{"Sec-Fetch-Site", "cross-site"}, status: 403, code: "cross_origin"},
	}
}

// badTargets are addresses and methods that nobody serves.
func badTargets() []bad {
	cases := []bad{
		{name: "no such thing", method: "GET", target: "/" + marker, status: 404, code: "not_found"},
		{name: "another version", method: "GET", target: "//api/v2/sales/products", status: 404, code: "not_found"},
		{name: "no version", method: "GET", target: "//api/sales/products", status: 404, code: "not_found"},
		{name: "trailing slash", method: "GET", target: "/sales/products/", status: 404, code: "not_found"},
		{name: "two slashes", method: "GET", target: "//api/v1//sales/products", status: 404, code: "not_found"},
		{name: "capitals", method: "GET", target: "/SALES/products", status: 404, code: "not_found"},
		{name: "encoded dots", method: "GET", target: "//api/v1/%2e%2e/%2e%2e/etc/passwd", status: 404, code: "not_found"},
		{name: "dots", method: "GET", target: "//api/v1/../../etc/passwd", status: 404, code: "not_found"},
		{name: "encoded slash", method: "GET", target: "//api/v1%2fsales/products", status: 404, code: "not_found"},
		{name: "NUL in the path", method: "GET", target: "/sales/products%00", status: 404, code: "not_found"},
		{name: "invalid UTF-8 in the path", method: "GET", target: "/sales/%ff" + marker, status: 404, code: "not_found"},
		{name: "backslash", method: "GET", target: "/sales%5cproducts", status: 404, code: "not_found"},
		{name: "semicolon", method: "GET", target: "/sales/products;" + marker, status: 404, code: "not_found"},
		{name: "long path", method: "GET", target: "/" + strings.Repeat(marker, 1000), status: 404, code: "not_found"},
	}
	for _, c := range []struct{ method, target string }{
		{"PUT", "/sales/orders"},
		{"PATCH", "/sales/products/" + pass},
		{"DELETE", "/sales/orders"},
		{"POST", "/sales/products"},
		{"GET", "/auth/login"},
		{"OPTIONS", "/sales/orders"},
		{"TRACE", "/sales/orders"},
		{"CONNECT", "/sales/orders"},
		{"BREW", "/sales/orders"},
		{"get", "/sales/products"},
	} {
		cases = append(cases, bad{name: c.method + " " + c.target, method: c.method, target: c.target, status: 405, code: "method_not_allowed"})
	}
	return cases
}

func badConsole() []bad {
	cases := on("/ops/internal-commands/requeue", []bad{
		{name: "requeue nothing", who: admin, body: "{}", field: "ids", about: "required"},
		{name: "requeue all and some", who: admin, body: `{"all":true,"expected":1,"ids":["` + pass + `"]}`, field: "ids", about: "required"},
		{name: "requeue all without a number", who: admin, body: `{"all":true}`, field: "expected", about: "required"},
		{name: "requeue null", who: admin, body: `{"ids":null}`, field: "ids", about: "null"},
		{name: "requeue no id", who: admin, body: `{"ids":["` + marker + `"]}`, field: "ids[0]", about: "invalid_id"},
		{name: "requeue too many", who: admin, body: `{"ids":[` + strings.TrimSuffix(strings.Repeat(`"`+pass+`",`, 1001), ",") + `]}`, field: "ids", about: "too_many"},
		{name: "requeue another number", who: admin, body: `{"all":true,"expected":99}`, status: 409, code: "unexpected_count"},
		{name: "requeue with NUL in the filter", who: admin, body: `{"all":true,"expected":0,"filter":{"name":"\u0000"}}`, field: "filter.name", about: "invalid_text"},
	})
	return append(cases,
		bad{name: "commands in no state", who: admin, method: "GET", target: "/ops/internal-commands?state=" + marker, field: "state", about: "unknown_value"},
		bad{name: "commands of a long name", who: admin, method: "GET", target: "/ops/internal-commands?name=" + strings.Repeat("a", 201), field: "name", about: "too_long"},
		bad{name: "no such command", who: admin, method: "GET", target: "/ops/internal-commands/" + pass, status: 404, code: "ops.command_not_found"},
		bad{name: "event of a bad id", who: admin, method: "GET", target: "/ops/outbox/" + marker, code: "invalid_id"},
		bad{name: "outbox from a forged cursor", who: admin, method: "GET", target: "/ops/outbox?cursor=e30", code: "invalid_cursor", field: "cursor", about: "invalid_cursor"},
	)
}

// forbidden is what is well-formed and asked by the wrong one: that is told before anything else is looked at.
func forbidden(o order) []bad {
	return []bad{
		{name: "order by nobody", who: "-", target: "/sales/orders", body: marker, status: 401, code: "unauthenticated"},
		{name: "order by a viewer", who: "viktor@example.com", target: "/sales/orders", body: marker, status: 403, code: "permission_denied"},
		{name: "console for a customer", method: "GET", target: "/ops/outbox?limit=0", status: 403, code: "permission_denied"},
		{name: "action by a viewer", who: "viktor@example.com", target: "/ops/outbox/requeue", body: marker, status: 403, code: "permission_denied"},
		{name: "somebody else's order, read", who: "bob@example.com", method: "GET", target: "/sales/orders/" + o.ID, status: 404, code: "sales.order_not_found"},
		{name: "somebody else's order, paid", who: "bob@example.com", target: "/sales/orders/" + o.ID + "/payments", body: `{"paymentMethod":"tok_visa"}`, status: 404, code: "sales.order_not_found"},
		{name: "somebody else's order, cancelled", who: "bob@example.com", target: "/sales/orders/" + o.ID + "/cancellation", status: 404, code: "sales.order_not_found"},
	}
}

// malformed is what no library sends.
func malformed(token string) []wire {
	const get = "GET /api/v1/sales/products HTTP/1.1\r\n"
	post := "POST /api/v1/sales/orders HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n"
	chunked := post + "Transfer-Encoding: chunked\r\n\r\n"
	return []wire{
		{"no HTTP", marker + "\r\n\r\n", "400", false},
		{"no host", get + "\r\n", "400", false},
		{"two hosts", get + "Host: a\r\nHost: b\r\n\r\n", "400", false},
		{"another protocol", "GET / HTTP/9.9\r\nHost: a\r\n\r\n", "505", false},
		{"header without a colon", get + "Host: a\r\n" + marker + "\r\n\r\n", "400", false},
		{"blank before a colon", get + "Host: a\r\nX-A : b\r\n\r\n", "400", false},
		{"header with NUL", get + "Host: a\r\nX-Correlation-Id: " + marker + "\x00\r\n\r\n", "400", false},
		{"huge header", get + "Host: a\r\nX-Big: " + strings.Repeat("a", 200<<10) + "\r\n\r\n", "431", false},
		{"many headers", get + "Host: a\r\n" + strings.Repeat("X-A: b\r\n", 20_000) + "\r\n", "431", false},
		{"huge target", "GET /" + strings.Repeat("a", 200<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "431", false},
		{"bad escape in the path", "GET /api/v1/%zz HTTP/1.1\r\nHost: a\r\n\r\n", "400", false},
		{"length of nonsense", post + "Content-Length: " + marker + "\r\n\r\n", "400", false},
		{"two lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}", "400", false},
		{"length and chunks", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", true},
		{"unknown transfer encoding", post + "Transfer-Encoding: " + marker + "\r\n\r\n", "501", false},
		{"bad chunk", chunked + "zz\r\n", "400", true},
		{"chunk of eleven megabytes", chunked + "b00000\r\n" + strings.Repeat(" ", 11<<20) + "\r\n0\r\n\r\n", "413", true},
		{"announced and huge", post + "Content-Length: 99999999999\r\n\r\n", "413", true},
		{"expecting to be waited for", post + "Expect: " + marker + "\r\nContent-Length: 2\r\n\r\n{}", "417", false},
		{"whole address as target", "GET http://evil.example/api/v1/" + marker + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "404", true},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200", false},
		{"an upgrade that nobody offers", get + "Host: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", "200", true},
	}
}
