package wake_test

import (
	"fmt"

	"example.com/plenary/platform/wake"
)

func Example() {
	bus := wake.New(wake.Config{}) // with a Database, Run carries messages to other processes and back
	bus.Subscribe("work", func(key string) {
		if key == "" {
			fmt.Println("look everywhere")
			return
		}
		fmt.Println("look into", key)
	})
	bus.Send("work", "sales")
	bus.Send("work", "")
	// Output:
	// look into sales
	// look everywhere
}
