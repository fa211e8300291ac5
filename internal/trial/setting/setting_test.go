package setting

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
)

// account is a machine whose user has an id.
type account struct {
	platform.Machine
	id string
}

func (u account) Name() string { return "web-1" }

func (u account) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if strings.Join(c.Argv, " ") != "id -u" {
		return platform.Result{Exit: 127}, nil
	}
	return platform.Result{Stdout: []byte(u.id + "\n")}, nil
}

// A setting that only root may change is refused before anything runs.
func TestRootIsAskedForBeforehand(t *testing.T) {
	get := func(context.Context, factor.Env) (string, error) { return "none", nil }
	for _, c := range []struct {
		id   string
		root bool
		want string
	}{
		{"1000", true, "host.scheduler: only root may set it and the user on web-1 is 1000: run plimsoll as root there, or leave the factor out"},
		{"0", true, ""},
		{"1000", false, ""},
	} {
		s := &Setting{name: "host.scheduler", factor: factor.Factor{Root: c.root, Get: get}, Place: factor.Env{Machine: account{id: c.id}}}
		err := s.check(t.Context(), &study.Study{}, []string{"none"})
		if got := text(err); got != c.want {
			t.Errorf("user %s, root %t: %q, want %q", c.id, c.root, got, c.want)
		}
	}
}

// A run that is stopped while it asks the machine about levels is no mistake of the study.
func TestAStopIsNoMistake(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped by Ctrl-C")
	f := factor.Factor{
		Get: func(context.Context, factor.Env) (string, error) { return "none", nil },
		Check: func(ctx context.Context, _ factor.Env, _ string) (string, error) {
			stop(cause)
			return "", ctx.Err()
		},
	}
	s := &Setting{name: "host.scheduler", factor: f, Place: factor.Env{Machine: account{id: "0"}}}
	if err := s.check(ctx, &study.Study{}, []string{"none"}); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

// Two levels that are one setting on a machine would be compared with themselves.
func TestLevelsThatAreOneSetting(t *testing.T) {
	f := factor.Factor{
		Get: func(context.Context, factor.Env) (string, error) { return "10us", nil },
		Check: func(_ context.Context, _ factor.Env, level string) (string, error) {
			if level == "50us" {
				level = "10us"
			}
			return level, nil
		},
	}
	s := &Setting{name: "host.idle_limit", factor: f, Place: factor.Env{Machine: account{id: "0"}}}
	for levels, want := range map[string]string{
		"none,10us": "", "none,50us": "", "10us,none,50us": "10us and 50us are one setting on web-1, which reads back 10us: leave one out",
	} {
		if got := text(s.check(t.Context(), &study.Study{}, strings.Split(levels, ","))); got != want {
			t.Errorf("%s: %q, want %q", levels, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
