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

// body makes an order of one line out of the text of its quantity.
func body(quantity string) string {
	return `{"lines":[{"productId":"` + pass + `","quantity":` + quantity + `}],"paymentMethod":"tok_visa"}`
}

// badBodies are about JSON itself.
func badBodies() []bad {
	good := body("1")
	return on("/sales/orders", []bad{
		{name: "nothing", body: "", about: "required"},
		{name: "blank", body: "  \n", about: "syntax"},
		{name: "no JSON", body: marker, about: "syntax"},
		{name: "null", body: "null", about: "null"},
		{name: "array", body: "[]", about: "wrong_type"},
		{name: "string", body: `"` + marker + `"`, about: "wrong_type"},
		{name: "number", body: "1", about: "wrong_type"},
		{name: "empty object", body: "{}", field: "lines", about: "required"},
		{name: "cut off", body: good[:40], about: "syntax"},
		{name: "two values", body: good + " " + good, about: "syntax"},
		{name: "trailing letter", body: good + "x", about: "syntax"},
		{name: "trailing comma", body: `{"lines":[],}`, about: "syntax"},
		{name: "comment", body: `{/* ` + marker + ` */}`, about: "syntax"},
		{name: "single quotes", body: `{'lines':[]}`, about: "syntax"},
		{name: "byte order mark", body: "\ufeff" + good, about: "syntax"},
		{name: "NaN", body: body("NaN"), about: "syntax"},
		{name: "leading zero", body: body("01"), about: "syntax"},
		{name: "hexadecimal", body: body("0x1"), about: "syntax"},
		{name: "UTF-16", body: "{\x00\"\x00l\x00", about: "syntax"},
		{name: "duplicate member", body: `{"paymentMethod":"tok_visa","paymentMethod":"` + marker + `","lines":[]}`, field: "paymentMethod", about: "duplicate_field"},
		{name: "duplicate in a line", body: `{"lines":[{"quantity":1,"quantity":9}],"paymentMethod":"tok_visa"}`, field: "lines[0].quantity", about: "duplicate_field"},
		{name: "duplicate by escape", body: `{"paymentMethod":"tok_visa","\u0070aymentMethod":"x","lines":[]}`, field: "paymentMethod", about: "duplicate_field"},
		{name: "another case", body: `{"Lines":[],"paymentMethod":"tok_visa"}`, about: "unknown_field"},
		{name: "unknown member", body: `{"` + marker + `":true,"lines":[],"paymentMethod":"tok_visa"}`, about: "unknown_field"},
		{name: "a price of one's own", body: `{"lines":[{"productId":"` + pass + `","quantity":1,"unitPrice":1}],"paymentMethod":"tok_visa"}`, field: "lines[0]", about: "unknown_field"},
		{name: "somebody else's order", body: `{"customerId":"` + pass + `","lines":[],"paymentMethod":"tok_visa"}`, about: "unknown_field"},
		{name: "invalid UTF-8", body: `{"lines":[],"paymentMethod":"` + "\xff" + `"}`, field: "paymentMethod", about: "invalid_text"},
		{name: "overlong UTF-8", body: `{"lines":[],"paymentMethod":"` + "\xc0\x80" + `"}`, field: "paymentMethod", about: "invalid_text"},
		{name: "escaped NUL", body: `{"lines":[],"paymentMethod":"` + marker + `\u0000"}`, field: "paymentMethod", about: "invalid_text"},
		{name: "escaped NUL in a name", body: `{"lines":[],"` + marker + `\u0000":1}`, about: "invalid_text"},
		{name: "bare NUL", body: "{\"lines\":[],\"paymentMethod\":\"\x00\"}", about: "syntax"},
		{name: "lone high surrogate", body: `{"lines":[],"paymentMethod":"\ud800"}`, field: "paymentMethod", about: "invalid_text"},
		{name: "lone low surrogate", body: `{"lines":[],"paymentMethod":"\udc00x"}`, field: "paymentMethod", about: "invalid_text"},
		{name: "deep nesting", body: strings.Repeat("[", 10_000), about: "too_deep"},
		{name: "deep and closed", body: strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), about: "too_deep"},
		{name: "too large", body: `{"paymentMethod":"` + strings.Repeat("a", 1<<20) + `"}`, status: 413, code: "body_too_large"},
		{name: "eleven megabytes of blanks", body: strings.Repeat(" ", 11<<20), status: 413, code: "body_too_large"},
		{name: "no type", body: good, header: []string{"Content-Type", ""}, status: 415, code: "unsupported_media_type"},
		{name: "form", body: "quantity=1", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, code: "unsupported_media_type"},
		{name: "text", body: good, header: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type"},
		{name: "problem", body: good, header: []string{"Content-Type", "application/problem+json"}, status: 415, code: "unsupported_media_type"},
		{name: "Latin-1", body: good, header: []string{"Content-Type", "application/json; charset=iso-8859-1"}, status: 415, code: "unsupported_media_type"},
		{name: "malformed type", body: good, header: []string{"Content-Type", "application/json;;"}, status: 415, code: "unsupported_media_type"},
		{name: "compressed", body: "\x1f\x8b", header: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_encoding"},
	})
}

// on gives cases the target that they share.
func on(target string, cases []bad) []bad {
	for i := range cases {
		cases[i].target = target
	}
	return cases
}

// badOrders are about what an order says.
func badOrders() []bad {
	line := func(product, quantity string) string {
		return `{"productId":` + product + `,"quantity":` + quantity + `}`
	}
	id := `"` + pass + `"`
	lines := func(lines ...string) string {
		return `{"lines":[` + strings.Join(lines, ",") + `],"paymentMethod":"tok_visa"}`
	}
	quantity := func(name, value, about string) bad {
		return bad{name: "quantity " + name, body: body(value), field: "lines[0].quantity", about: about}
	}
	return on("/sales/orders", []bad{
		quantity("zero", "0", "out_of_range"),
		quantity("negative", "-5", "out_of_range"),
		quantity("above the most", "21", "out_of_range"),
		quantity("past 32 bits", "2147483648", "out_of_range"),
		quantity("past 64 bits", "9223372036854775808", "out_of_range"),
		quantity("half", "1.5", "wrong_type"),
		quantity("one as a fraction", "1.0", "wrong_type"),
		quantity("as a power", "1e400", "wrong_type"),
		quantity("as a small power", "1e0", "wrong_type"),
		quantity("as text", `"1"`, "wrong_type"),
		quantity("null", "null", "null"),
		quantity("true", "true", "wrong_type"),
		quantity("an array", "[1]", "wrong_type"),
		{name: "no quantity", body: lines(`{"productId":` + id + `}`), field: "lines[0].quantity", about: "required"},
		{name: "no lines", body: lines(), field: "lines", about: "out_of_range"},
		{name: "21 lines", body: lines(slices.Repeat([]string{line(id, "1")}, 21)...), field: "lines", about: "out_of_range"},
		{name: "lines null", body: `{"lines":null,"paymentMethod":"tok_visa"}`, field: "lines", about: "null"},
		{name: "lines an object", body: `{"lines":{},"paymentMethod":"tok_visa"}`, field: "lines", about: "wrong_type"},
		{name: "a line null", body: lines("null"), field: "lines[0]", about: "null"},
		{name: "a line of text", body: lines(id), field: "lines[0]", about: "wrong_type"},
		{name: "a good line and a negative one", body: lines(line(id, "3"), line(id, "-2")), field: "lines[1].quantity", about: "out_of_range"},
		{name: "unknown product", body: lines(line(`"01936d10-0000-7000-8000-00000000ffff"`, "1")), field: "lines[0].productId", about: "unknown_value"},
		{name: "product of zeros", body: lines(line(`"00000000-0000-0000-0000-000000000000"`, "1")), field: "lines[0].productId", about: "unknown_value"},
		{name: "product null", body: lines(line("null", "1")), field: "lines[0].productId", about: "null"},
		{name: "product a number", body: lines(line("27", "1")), field: "lines[0].productId", about: "wrong_type"},
		{name: "product no UUID", body: lines(line(`"`+marker+`"`, "1")), field: "lines[0].productId", about: "invalid_id"},
		{name: "product in braces", body: lines(line(`"{`+pass+`}"`, "1")), field: "lines[0].productId", about: "invalid_id"},
		{name: "product without hyphens", body: lines(line(`"`+strings.ReplaceAll(pass, "-", "")+`"`, "1")), field: "lines[0].productId", about: "invalid_id"},
		{name: "no payment method", body: `{"lines":[` + line(id, "1") + `]}`, field: "paymentMethod", about: "required"},
		{name: "unknown payment method", body: strings.Replace(body("1"), "tok_visa", marker, 1), field: "paymentMethod", about: "unknown_value"},
		{name: "empty payment method", body: strings.Replace(body("1"), "tok_visa", "", 1), field: "paymentMethod", about: "unknown_value"},
		{name: "payment method in capitals", body: strings.Replace(body("1"), "tok_visa", "TOK_VISA", 1), field: "paymentMethod", about: "unknown_value"},
		{name: "payment method a number", body: `{"lines":[` + line(id, "1") + `],"paymentMethod":4111111111111111}`, field: "paymentMethod", about: "wrong_type"},
		{name: "a megabyte of payment method", body: strings.Replace(body("1"), "tok_visa", strings.Repeat("a", 1<<20-200), 1), field: "paymentMethod", about: "unknown_value"},
	})
}

func badLogins() []bad {
	return on("/auth/login", []bad{
		{name: "login without a password", who: "-", body: `{"email":"alice@example.com"}`, field: "password", about: "required"},
		{name: "login without an address", who: "-", body: `{"password":"demo"}`, field: "email", about: "required"},
		{name: "login with null", who: "-", body: `{"email":null,"password":"demo"}`, field: "email", about: "null"},
		{name: "login with an array", who: "-", body: `{"email":["alice@example.com"],"password":"demo"}`, field: "email", about: "wrong_type"},
		{name: "login with NUL", who: "-", body: `{"email":"alice@example.com\u0000","password":"demo"}`, field: "email", about: "invalid_text"},
		{name: "login as nobody", who: "-", body: `{"email":"` + marker + `@example.com","password":"demo"}`, status: 401, code: "invalid_credentials"},
		{name: "login with an injection", who: "-", body: `{"email":"' OR 1=1 --","password":"demo"}`, status: 401, code: "invalid_credentials"},
		{name: "login with a wrong password", who: "-", body: `{"email":"bob@example.com","password":"` + marker + `"}`, status: 401, code: "invalid_credentials"},
		{name: "login with an empty password", who: "-", body: `{"email":"bob@example.com","password":""}`, status: 401, code: "invalid_credentials"},
		{name: "login with a huge password", who: "-", body: `{"email":"bob@example.com","password":"` + strings.Repeat("x", 1<<19) + `"}`, status: 401, code: "invalid_credentials"},
		{name: "login with a huge address", who: "-", body: `{"email":"` + strings.Repeat("x", 1<<19) + `","password":"x"}`, status: 401, code: "invalid_credentials"},
	})
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
