// Package migrations embeds the SQL that makes the modules' schemas. The platform's own lies with
// platform/postgres.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed */*.sql
var files embed.FS

// Of returns the migrations of one source, with its files at the root.
func Of(source string) fs.FS {
	sub, err := fs.Sub(files, source)
	if err != nil {
		panic(err) // source is a constant of the program
	}
	return sub
}
