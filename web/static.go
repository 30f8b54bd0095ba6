package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/go-chi/chi/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

//go:embed static
var staticFiles embed.FS

// contentTypes are ours to say: the table of the operating system may know better.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// static is the embedded files. Their addresses have one hash of them all, so that a browser may keep them for
// ever, and that modules find each other by relative names.
type static struct {
	version string
	files   map[string][]byte
}

func openStatic() (*static, error) {
	s := &static{files: map[string][]byte{}}
	sum := sha256.New()
	entries, err := fs.ReadDir(staticFiles, "static") // sorted by name
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		data, err := fs.ReadFile(staticFiles, path.Join("static", entry.Name()))
		if err != nil {
			return nil, err
		}
		if contentTypes[path.Ext(entry.Name())] == "" {
			return nil, fmt.Errorf("web: no content type for the static file %s", entry.Name())
		}
		s.files[entry.Name()] = data
		fmt.Fprintf(sum, "%s %d\n%s", entry.Name(), len(data), data)
	}
	s.version = hex.EncodeToString(sum.Sum(nil))[:12]
	return s, nil
}

// url returns the address of a file.
func (s *static) url(name string) (string, error) {
	if _, ok := s.files[name]; !ok {
		return "", fmt.Errorf("there is no static file %s", name)
	}
	return "/static/" + s.version + "/" + name, nil
}

func (s *static) mount(r chi.Router) {
	r.Get("/static/{version}/{name}", s.serve)
	r.Head("/static/{version}/{name}", s.serve)
}

// serve answers under any version: while replicas are replaced, a page of the old one must not lose its styles
// to the new one. But only what the address really names may be kept.
func (s *static) serve(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	data, ok := s.files[name]
	if !ok {
		httpx.WriteProblem(w, r, fault.New(fault.NotFound, "not_found", "there is nothing at this address"))
		return
	}
	keep := "no-cache"
	if chi.URLParam(r, "version") == s.version {
		keep = "public, max-age=31536000, immutable"
	}
	w.Header().Set("Cache-Control", keep)
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("ETag", `"`+s.version+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
