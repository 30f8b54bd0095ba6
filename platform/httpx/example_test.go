package httpx_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// A route is its declaration, its types and its handler.
func Example() {
	type product struct {
		Slug  string `json:"slug"`
		Price int64  `json:"price" doc:"In minor units" minimum:"0"`
	}
	type getProduct struct {
		ID uuid.UUID `path:"id"`
	}
	known := uuid.MustParse("019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f")

	api := httpx.NewAPI(httpx.Config{Title: "Shop", Version: "1", Log: slog.New(slog.DiscardHandler)})
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/products/{id}", ID: "getProduct", Summary: "One product", Errors: []int{404},
	}, func(_ context.Context, in getProduct) (httpx.Response[product], error) {
		if in.ID != known {
			return httpx.Response[product]{}, fault.New(fault.NotFound, "shop.unknown_product", "there is no such product")
		}
		return httpx.OK(product{Slug: "ticket", Price: 12900}), nil
	})

	for _, id := range []string{known.String(), uuid.Nil.String(), "27"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/api/v1/products/"+id, nil)
		r.Header.Set("X-Correlation-Id", "c-1")
		api.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}

	document, _ := api.Document()
	fmt.Println(strings.Contains(string(document), `"operationId":"getProduct"`))
	// Output:
	// 200 {"slug":"ticket","price":12900}
	// 404 {"type":"about:blank","title":"Not Found","status":404,"detail":"there is no such product","code":"shop.unknown_product","correlationId":"c-1"}
	// 400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"the id in the path is not valid","code":"invalid_id","correlationId":"c-1","errors":[{"field":"id","code":"invalid_id","message":"must be a UUID such as 019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"}]}
	// true
}
