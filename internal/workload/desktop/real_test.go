package desktop

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Each operation of the real programs gives what it must.
func TestRealPrograms(t *testing.T) {
	effort.Deep(t, "test with LibreOffice, Chromium, 7-Zip and pdftoppm")
	t.Parallel()
	l, env := made(t, parameter.Settings{"sessions": "2", "loop": "0s"})
	needs, err := l.Check(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if len(needs.Versions) < 4 {
		t.Errorf("versions: %v", needs.Versions)
	}
	out, err := ran(t, l, env, 24)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := map[string]int64{}, int64(0)
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			good[s.Class] += s.Operations
			bad += s.Errors
		}
	}
	for _, o := range operations() {
		if good[o.name] == 0 {
			t.Errorf("no %s", o.name)
		}
	}
	if bad > 0 {
		t.Errorf("%d wrong results: %+v", bad, out.Checks())
	}
	v := out.Values()
	if v["sessions"] != 2 || v["loop.cpu"] < .5 || v["session.memory"] < 50<<20 || v["logon.mean"] < .1 {
		t.Errorf("%v", v)
	}
}

// The light profile is calibrated with real programs, and its short operations are repeated.
func TestRealBasePhase(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with 7-Zip and pdftoppm")
	}
	t.Parallel()
	l, err := Kind().New(parameter.Settings{"profile": "light", "sessions": "2", "loop": "1s"})
	if err != nil {
		t.Fatal(err)
	}
	env := here(t)
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := l.(*desktop).Calibrate(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out, err := ran(t, l, env, 24)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Checks() {
		if c.Name == "weights" && (c.State != measure.Pass || !strings.Contains(c.Detail, "save ")) {
			t.Errorf("%+v", c)
		}
	}
}
