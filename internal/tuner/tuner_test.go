package tuner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/fault"
)

func TestOptionsThatAreRefused(t *testing.T) {
	if err := Defaults().Check(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	for _, test := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Rule = "dens" }, "did you mean dense?"},
		{func(o *Options) { o.Rule = "sparse" }, `unknown tuner "sparse"`},
		{func(o *Options) { o.Every = 10 * time.Millisecond }, "from 1s to 1h"},
		{func(o *Options) { o.Every = 2 * time.Hour }, "from 1s to 1h"},
		{func(o *Options) { o.Hold = 0 }, "in whole microseconds"},
		{func(o *Options) { o.Hold = time.Second }, "to 10ms"},
		{func(o *Options) { o.Hold = 1500 * time.Nanosecond }, "in whole microseconds"},
	} {
		o := Defaults()
		test.change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", o, err, test.want)
		}
	}
}

func TestWithoutRootItIsRefused(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("this is root")
	}
	var refusal *fault.Refusal
	if err := Run(t.Context(), Defaults()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "run plimsoll as root") {
		t.Errorf("error %v", err)
	}
}

func TestOneTunerForAHost(t *testing.T) {
	dir := t.TempDir()
	if s, err := occupant(dir); err != nil || s.Process != 0 {
		t.Fatalf("before any: %+v, %v", s, err)
	}
	want := factor.TunerState{Rule: "dense", Every: 5e9, Process: os.Getpid()}
	release, err := occupy(dir, want)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := occupant(dir); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	var refusal *fault.Refusal
	if _, err := occupy(dir, want); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "runs on this host already") {
		t.Errorf("a second one: %v", err)
	}
	release()
	if s, err := occupant(dir); err != nil || s.Process != 0 {
		t.Errorf("after it ended: %+v, %v", s, err)
	}
	release, err = occupy(dir, want)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestJobs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	open := func(context.Context) (platform.Platform, error) { return nil, errors.New("not asked") }
	for _, test := range []struct{ job, answer, problem string }{
		{`{"do":"show"}`, "{}\n", ""},
		{`{"do":"stop"}`, "{}\n", ""},
		{`{"do":"dance"}`, "", "unknown job"},
		{`{`, "", "read the job"},
		{``, "", "read the job"},
		{`{"do":"start","rule":"sparse","every":"1m"}`, "", "unknown tuner"},
	} {
		var out bytes.Buffer
		err := Serve(t.Context(), open, strings.NewReader(test.job), &out)
		if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: error %v, want %q", test.job, err, test.problem)
		}
		if out.String() != test.answer {
			t.Errorf("%s: answered %q, want %q", test.job, out.String(), test.answer)
		}
	}
}
