package channel

import "context"

// Push is what a commit does with an enlisted item.
func (c *DropOldest[T]) Push(item T) { c.push(context.Background(), item) }

// Take is the first half of what the reader does.
func (c *DropOldest[T]) Take() (T, bool) {
	var e entry[T]
	ok := c.take(&e)
	return e.item, ok
}
