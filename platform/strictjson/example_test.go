package strictjson_test

import (
	"fmt"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

func Example() {
	type line struct {
		Quantity int `json:"quantity"`
	}
	var body struct {
		Lines []line `json:"lines"`
	}

	fmt.Println(strictjson.Decode([]byte(`{"lines":[{"quantity":2}]}`), &body), body.Lines[0].Quantity)

	err := strictjson.Decode([]byte(`{"lines":[{"quantity":"two"}]}`), &body)
	for _, f := range fault.As(err).Fields {
		fmt.Println(f.Path, f.Code, "-", f.Message)
	}
	// Output:
	// <nil> 2
	// lines[0].quantity wrong_type - must be a whole number
}
