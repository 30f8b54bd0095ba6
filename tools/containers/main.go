// Command containers checks compose.yaml and the Dockerfile without a container engine: that both can be read, and
// that they keep what the repository promises of them.
//
//	go run . ../..
//
// It prints one line for each problem and ends with 1 if there is any. It is a module of its own, so that nobody
// who uses the program downloads what it needs.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: containers FOLDER")
		os.Exit(2)
	}
	problems, err := check(context.Background(), os.DirFS(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, "containers:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
	fmt.Println("compose.yaml and the Dockerfile are in order")
}

// check returns what is wrong with the two files in a folder, and with how they fit together.
func check(ctx context.Context, root fs.FS) ([]string, error) {
	text, err := fs.ReadFile(root, "Dockerfile")
	if err != nil {
		return nil, err
	}
	image, problems := checkDockerfile(text)
	settings, err := settingNames(root)
	if err != nil {
		return nil, err
	}
	return append(problems, checkCompose(ctx, root, image, settings)...), nil
}

// problems collects complaints about one file.
type problems struct {
	file string
	all  []string
}

func (p *problems) add(format string, args ...any) {
	p.all = append(p.all, p.file+": "+fmt.Sprintf(format, args...))
}

// must adds a complaint unless ok.
func (p *problems) must(ok bool, format string, args ...any) {
	if !ok {
		p.add(format, args...)
	}
}
