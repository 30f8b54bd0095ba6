package host

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
)

// Set while linking, where the build knows more than the Go tool does:
//
//	go build -ldflags "-X <import path of this package>.version=v1.2.0 -X <the same>.commit=4f2a…"
var version, commit string

// Build says which program this is.
type Build struct {
	Version  string `json:"version"`            // a tag, or "(devel)"
	Commit   string `json:"commit,omitempty"`   // the revision it was built from
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // there were changes beyond the commit
	Go       string `json:"go"`
}

// Version returns what is known of this program's build: what was set while linking, or else what the Go tool
// has recorded.
func Version() Build { return buildOnce() }

var buildOnce = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, version, commit)
})

func buildOf(info *debug.BuildInfo, version, commit string) Build {
	b := Build{Version: version, Commit: commit, Go: runtime.Version()}
	if info != nil {
		b.Version = cmp.Or(version, info.Main.Version)
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				b.Commit = cmp.Or(commit, setting.Value)
			case "vcs.time":
				b.Time = setting.Value
			case "vcs.modified":
				b.Modified = setting.Value == "true"
			}
		}
	}
	b.Version = cmp.Or(b.Version, "(devel)")
	return b
}
