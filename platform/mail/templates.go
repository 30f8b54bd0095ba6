package mail

import (
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"strings"
	texttemplate "text/template"
)

const (
	textSuffix = ".txt.tmpl"
	htmlSuffix = ".html.tmpl"
)

// Templates holds the mails of a module. It is safe for concurrent use.
type Templates struct {
	byName map[string]mailTemplate
}

type mailTemplate struct {
	subject, text *texttemplate.Template
	html          *htmltemplate.Template
}

// ParseTemplates reads the mails in the root of fsys. A mail NAME is two files: NAME.txt.tmpl, a text/template
// whose first line is "Subject: …", and NAME.html.tmpl, an html/template. It fails for a mail that lacks a part
// and for a template that does not parse or cannot be escaped, so that a program learns of both when it starts.
func ParseTemplates(fsys fs.FS) (*Templates, error) {
	files, err := fs.Glob(fsys, "*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("list mail templates: %w", err)
	}
	t := &Templates{byName: map[string]mailTemplate{}}
	for _, file := range files {
		name, isText := strings.CutSuffix(file, textSuffix)
		if !isText {
			// A stray HTML part is a mail whose text was forgotten; parsing it says which file is missing.
			name = strings.TrimSuffix(file, htmlSuffix)
		}
		if t.byName[name], err = parseMail(fsys, name); err != nil {
			return nil, fmt.Errorf("mail template %s: %w", name, err)
		}
	}
	if len(t.byName) == 0 {
		return nil, errors.New("no mail templates found")
	}
	return t, nil
}

func parseMail(fsys fs.FS, name string) (mailTemplate, error) {
	var m mailTemplate
	text, err := fs.ReadFile(fsys, name+textSuffix)
	if err != nil {
		return m, err
	}
	html, err := fs.ReadFile(fsys, name+htmlSuffix)
	if err != nil {
		return m, err
	}
	// The subject is cut off before the template is executed: data with a line break in it cannot move the cut.
	first, body, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	subject, ok := strings.CutPrefix(first, "Subject: ")
	if !ok {
		return m, fmt.Errorf("the first line of %s%s is not \"Subject: …\"", name, textSuffix)
	}
	if m.subject, err = texttemplate.New(name + " subject").Option("missingkey=error").Parse(subject); err != nil {
		return m, err
	}
	m.text, err = texttemplate.New(name + textSuffix).Option("missingkey=error").Parse(strings.TrimLeft(body, "\n"))
	if err != nil {
		return m, err
	}
	m.html, err = htmltemplate.New(name + htmlSuffix).Option("missingkey=error").Parse(string(html))
	if err != nil {
		return m, err
	}
	// html/template finds what it cannot escape when it first runs. Other errors of this run are about its
	// missing data.
	if bad, ok := errors.AsType[*htmltemplate.Error](m.html.Execute(io.Discard, nil)); ok {
		return m, bad
	}
	return m, nil
}

// Render executes the templates of one mail. It fails for an unknown name, and for a key or field that data
// does not have.
func (t *Templates) Render(name string, data any) (subject, text, html string, err error) {
	m, ok := t.byName[name]
	if !ok {
		return "", "", "", fmt.Errorf("there is no mail template %q", name)
	}
	parts := []struct {
		into     *string
		template interface{ Execute(io.Writer, any) error }
	}{{&subject, m.subject}, {&text, m.text}, {&html, m.html}}
	for _, part := range parts {
		var b strings.Builder
		if err := part.template.Execute(&b, data); err != nil {
			return "", "", "", fmt.Errorf("render mail %s: %w", name, err)
		}
		*part.into = b.String()
	}
	return subject, text, html, nil
}
