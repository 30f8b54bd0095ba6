package mail

import (
	"strings"
	"testing"
	"testing/fstest"
)

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func TestRender(t *testing.T) {
	t.Parallel()
	templates, err := ParseTemplates(files(
		"failed.txt.tmpl", "Subject: Order {{.Number}} of {{.Name}}\r\n\r\nDear {{.Name}},\r\npay at {{.URL}}\r\n",
		"failed.html.tmpl", `<p>Dear {{.Name}}, <a href="{{.URL}}">pay</a></p>`,
		"README.md", "not a template",
	))
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]string{"Number": "000042", "Name": "<b>A & B</b>\nSubject: x", "URL": "javascript:alert(1)"}
	subject, text, html, err := templates.Render("failed", data)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Order 000042 of <b>A & B</b>\nSubject: x"; subject != want { // Send makes one line of it
		t.Errorf("subject = %q", subject)
	}
	if want := "Dear <b>A & B</b>\nSubject: x,\npay at javascript:alert(1)\n"; text != want {
		t.Errorf("text = %q", text)
	}
	if want := "<p>Dear &lt;b&gt;A &amp; B&lt;/b&gt;\nSubject: x, <a href=\"#ZgotmplZ\">pay</a></p>"; html != want {
		t.Errorf("html = %q", html)
	}
}

func TestBadTemplatesFailAtTheStart(t *testing.T) {
	t.Parallel()
	const good = "Subject: x\n\ntext"
	for name, fsys := range map[string]fstest.MapFS{
		"none":                   files(),
		"text is missing":        files("a.html.tmpl", "<p>"),
		"HTML is missing":        files("a.txt.tmpl", good),
		"of neither kind":        files("a.tmpl", good),
		"no subject":             files("a.txt.tmpl", "Dear {{.Name}}", "a.html.tmpl", ""),
		"subject does not parse": files("a.txt.tmpl", "Subject: {{.Name\n\ntext", "a.html.tmpl", ""),
		"text does not parse":    files("a.txt.tmpl", "Subject: x\n\n{{if}}", "a.html.tmpl", ""),
		"HTML does not parse":    files("a.txt.tmpl", good, "a.html.tmpl", "{{end}}"),
		"HTML is not escapable":  files("a.txt.tmpl", good, "a.html.tmpl", `<a href="{{.URL}}`),
	} {
		if _, err := ParseTemplates(fsys); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestMissingKeysAreErrors(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"subject", "text", "html"} {
		sources := map[string]string{"subject": "x", "text": "x", "html": "x"}
		sources[part] = "{{.Missing}}"
		templates, err := ParseTemplates(files(
			"a.txt.tmpl", "Subject: "+sources["subject"]+"\n"+sources["text"], "a.html.tmpl", sources["html"],
		))
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range []any{map[string]string{}, struct{}{}} {
			subject, text, html, err := templates.Render("a", data)
			if err == nil || subject+text+html != "" {
				t.Errorf("%s, %T: %q %q %q %v", part, data, subject, text, html, err)
			}
		}
	}
}

func TestUnknownTemplate(t *testing.T) {
	t.Parallel()
	templates, err := ParseTemplates(files("a.txt.tmpl", "Subject: x\nx", "a.html.tmpl", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := templates.Render("b", nil); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("got %v", err)
	}
}
