package host

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuildPrefersWhatWasSetWhileLinking(t *testing.T) {
	t.Parallel()
	recorded := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.1.0"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "aaa"},
			{Key: "vcs.time", Value: "2026-03-01T12:00:00Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	full := Build{Version: "v1.1.0", Commit: "aaa", Time: "2026-03-01T12:00:00Z", Modified: true, Go: runtime.Version()}
	linked := full
	linked.Version, linked.Commit = "v2", "bbb"
	cases := map[string]struct{ got, want Build }{
		"recorded": {buildOf(recorded, "", ""), full},
		"linked":   {buildOf(recorded, "v2", "bbb"), linked},
		"unknown":  {buildOf(nil, "", ""), Build{Version: "(devel)", Go: runtime.Version()}},
		"only set": {buildOf(nil, "v2", "bbb"), Build{Version: "v2", Commit: "bbb", Go: runtime.Version()}},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}
