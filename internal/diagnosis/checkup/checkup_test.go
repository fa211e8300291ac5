package checkup

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/watch"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// host is a target with a recording of a healthy host after a change.
func host(name string, root bool, change func(e *diagnosis.Evidence)) Target {
	e := diagnosistest.Healthy(8)
	change(e)
	return Target{Name: name, Watch: func(context.Context, watch.Job) (*watch.Answer, error) {
		return &watch.Answer{Recording: &e.Recording, Root: root}, nil
	}}
}

func healthy(*diagnosis.Evidence) {}

// short has a listen queue of 1, and a program whose name would clear a terminal.
func short(e *diagnosis.Evidence) {
	diagnosistest.Each(e, func(i *hoststat.Interval) {
		l := &i.Network.Listeners[0]
		l.Backlog, l.Drops, l.Queue, l.Waiting = 1, 20, 0.3, 0.3
		i.Net["TcpExt.ListenDrops"] = l.Drops
		i.Network.Holders[1].Files, i.Network.Holders[1].Program = 1024, "evil\x1b[2J"
	})
	e.Mean.Missing = map[string]string{"links": "read /proc/net/dev: permission denied"}
}

func refused(context.Context, watch.Job) (*watch.Answer, error) {
	return nil, errors.New("connect to db-3 by ssh: no route to host")
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		look    Look
		targets []Target
	}{
		"one":     {Look{Width: 80}, []Target{host("", false, short)}},
		"colour":  {Look{Width: 80, Colour: true, Verbose: true}, []Target{host("", true, short)}},
		"several": {Look{Width: 60}, []Target{host("db-1", true, healthy), host("db-2", true, short), {Name: "db-3", Watch: refused}}},
		"healthy": {Look{}, []Target{host("", true, healthy)}},
	} {
		r, _ := Run(t.Context(), c.targets, watch.Job{})
		var b strings.Builder
		if err := r.Text(&b, c.look); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "").Replace(b.String()), "\x1b\x07") {
			t.Errorf("%s: a control sequence of a program's name: %q", name, b.String())
		}
		file := "testdata/" + name + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != b.String() {
			t.Errorf("%s (%v): got\n%s", name, err, b.String())
		}
	}
}

// Findings of several hosts are in one order, and a host that cannot be reached does not keep
// the others from being checked.
func TestSeveralHosts(t *testing.T) {
	r, err := Run(t.Context(), []Target{{Name: "db-3", Watch: refused}, host("db-2", true, short), host("db-1", true, healthy)}, watch.Job{})
	if err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("error %v", err)
	}
	if len(r.Hosts) != 3 || r.Hosts[0].Error == "" || len(r.Findings) < 2 || r.Single() != nil {
		t.Errorf("report %+v", r)
	}
	for i, f := range r.Findings {
		if f.Host != "db-2" || i > 0 && compare(&r.Findings[i-1].Finding, &f.Finding) > 0 {
			t.Errorf("finding %d: %+v", i, f)
		}
	}
	two := joined([]error{errors.New("a"), nil, watch.ErrUnknown})
	if !errors.Is(two, watch.ErrUnknown) || !strings.Contains(two.Error(), "2 hosts") {
		t.Errorf("two errors: %v", two)
	}
}

func TestFollow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	round, ill, well := 0, host("a", true, short), host("a", true, healthy)
	changing := Target{Name: "a", Watch: func(ctx context.Context, job watch.Job) (*watch.Answer, error) {
		switch round++; round {
		case 1, 2:
			return ill.Watch(ctx, job)
		case 3:
			return refused(ctx, job)
		case 4:
			return well.Watch(ctx, job)
		}
		cancel()
		return nil, ctx.Err()
	}}
	var told []string
	last, err := Follow(ctx, []Target{changing}, watch.Job{Length: time.Nanosecond}, func(c Change) error {
		told = append(told, strings.Join([]string{c.Change, c.Host}, " "))
		if strings.ContainsAny(c.String(), "\x1b\n") {
			t.Errorf("line %q", c)
		}
		return nil
	})
	if want := "appeared a,appeared a,failed a,gone a,gone a"; err != nil || strings.Join(told, ",") != want || len(last) != 0 {
		t.Errorf("told %v, %v, left %v", told, err, last)
	}
}
