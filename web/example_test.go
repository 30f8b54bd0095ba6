package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/web"
)

// The pages hang in the API, and stand around it: whatever goes wrong in there is a page for a browser.
func Example() {
	site, err := web.New(web.Deps{})
	if err != nil {
		fmt.Println(err)
		return
	}
	api := httpx.NewAPI(httpx.Config{})
	site.Mount(api)
	served := site.Wrap(api)

	for _, accept := range []string{"text/html", "application/json"} {
		request := httptest.NewRequest(http.MethodGet, "/nothing", nil)
		request.Header.Set("Accept", accept)
		answer := httptest.NewRecorder()
		served.ServeHTTP(answer, request)
		fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	}
	// Output:
	// 404 text/html; charset=utf-8
	// 404 application/problem+json
}
