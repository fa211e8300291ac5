package main

import (
	"runtime/debug"
	"testing"
)

func TestRecordedVersion(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for _, test := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"release", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{"commit", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit}}, "0123456789ab"},
		{"changed files", debug.BuildInfo{Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}}, "0123456789ab-dirty"},
		{"no repository", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "unknown"},
	} {
		if got := recorded(&test.info); got != test.want {
			t.Errorf("%s: version %q, want %q", test.name, got, test.want)
		}
	}
}
