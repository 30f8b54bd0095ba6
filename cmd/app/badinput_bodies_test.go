package main

import (
	"slices"
	"strings"
)

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
