package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// image is what the last stage of a Dockerfile says about containers.
type image struct {
	user       string
	stopSignal string
	entrypoint []string
	env        map[string]string
	targets    []string // what is copied into it
}

var numericUser = regexp.MustCompile(`^[1-9][0-9]*(:[1-9][0-9]*)?$`)

// checkDockerfile reads a Dockerfile as the builder does, with the builder's own complaints, and returns its image.
func checkDockerfile(text []byte) (image, []string) {
	p := &problems{file: "Dockerfile"}
	tree, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		p.add("%v", err)
		return image{}, p.all
	}
	for _, w := range tree.Warnings {
		p.add("%s", w.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) { p.add("%s: %s", rule, message) }})
	stages, _, err := instructions.Parse(tree.AST, lint)
	if err != nil {
		p.add("%v", err)
		return image{}, p.all
	}
	if len(stages) == 0 {
		p.add("there is no FROM")
		return image{}, p.all
	}
	checkStages(p, stages)
	img := readImage(p, stages[len(stages)-1])
	p.must(numericUser.MatchString(img.user), "the image must run as a numeric user other than root: nothing else can be verified; it says %q", img.user)
	p.must(img.stopSignal == "SIGTERM", "STOPSIGNAL must be SIGTERM, which the program understands")
	p.must(len(img.entrypoint) > 0, "there is no ENTRYPOINT in exec form")
	if len(img.entrypoint) > 0 {
		p.must(slices.Contains(img.targets, img.entrypoint[0]), "ENTRYPOINT %s is not copied into the image", img.entrypoint[0])
	}
	p.must(slices.ContainsFunc(img.targets, func(t string) bool { return strings.HasPrefix(t, "/etc/ssl/certs") }),
		"the image has no certificates: no mail server under TLS could be reached")
	return img, p.all
}

// checkStages looks at where the stages come from and how the program is built.
func checkStages(p *problems, stages []instructions.Stage) {
	names := []string{"scratch"}
	var built string
	for _, s := range stages {
		if !slices.Contains(names, s.BaseName) {
			_, tag, tagged := strings.Cut(s.BaseName, ":")
			p.must(tagged && tag != "latest", "FROM %s: name a version", s.BaseName)
		}
		for _, c := range s.Commands {
			switch c := c.(type) {
			case *instructions.RunCommand:
				built += strings.Join(c.CmdLine, " ") + "\n"
			case *instructions.EnvCommand:
				built += c.String() + "\n"
			case *instructions.AddCommand:
				p.add("ADD fetches and unpacks on its own account: use COPY")
			case *instructions.CopyCommand:
				p.must(c.From == "" || slices.Contains(names, c.From), "COPY --from=%s: there is no such stage before it", c.From)
			}
		}
		names = append(names, s.Name)
	}
	for _, needed := range []string{"CGO_ENABLED=0", "-trimpath", ".version="} {
		p.must(strings.Contains(built, needed), "the program must be built with %s", needed)
	}
}

func readImage(p *problems, last instructions.Stage) image {
	img := image{env: map[string]string{}}
	p.must(last.BaseName == "scratch", "the last stage must be FROM scratch: a shell or a package manager is of use to intruders only")
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			img.user = c.User
		case *instructions.StopSignalCommand:
			img.stopSignal = c.Signal
		case *instructions.EnvCommand:
			for _, pair := range c.Env {
				img.env[pair.Key] = pair.Value
			}
		case *instructions.EntrypointCommand:
			p.must(!c.PrependShell, "ENTRYPOINT must be in exec form: a shell would not pass SIGTERM on")
			if !c.PrependShell {
				img.entrypoint = c.CmdLine
			}
		case *instructions.CmdCommand:
			p.must(!c.PrependShell, "CMD must be in exec form")
		case *instructions.CopyCommand:
			img.targets = append(img.targets, c.DestPath)
		case *instructions.RunCommand:
			p.add("the last stage runs something")
		}
	}
	return img
}
