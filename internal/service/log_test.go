package service

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogged(t *testing.T) {
	env := place(t)
	daemon := script(env, `echo one; echo two >&2; echo three >>log; echo zero >>diary; touch up
while [ ! -e more ]; do sleep .01; done
i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo "line $i" >&2; done; echo four >>log; touch said; exec sleep 100`)
	r, err := launched(t.Context(), env, Recipe{Name: "it", Daemon: func(at Location) (Daemon, error) {
		d, err := daemon(at)
		d.Diary = "diary"
		return d, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	var first string // standard output may arrive after the log
	for len(first) < len("one\ntwo\nthree\nzero\n") && r.Died() == nil {
		first += string(r.Logged(t.Context()))
	}
	if !strings.Contains(first, "one\ntwo\n") || !strings.Contains(first, "three\nzero\n") || len(first) != len("one\ntwo\nthree\nzero\n") {
		t.Errorf("first %q", first)
	}
	if got := r.Logged(t.Context()); len(got) > 0 {
		t.Errorf("told twice: %q", got)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for !bytes.Contains(all, []byte("four")) || !bytes.Contains(all, []byte("line 9000")) {
		if t.Context().Err() != nil || r.Died() != nil {
			t.Fatalf("it does not come: %v", r.Died())
		}
		all = append(all, r.Logged(t.Context())...)
	}
	if strings.Contains(string(all), "one\n") {
		t.Error("what was told comes again")
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.Logged(t.Context()); got != nil {
		t.Errorf("after its end %q", got)
	}
	if got := Use(Live{}).Logged(t.Context()); got != nil {
		t.Errorf("of one that was only used %q", got)
	}
}

// talker is an instance with messages.
type talker struct {
	Instance
	text string
}

func (s talker) Logged(context.Context) []byte { return []byte(s.text) }

func TestLoggedBySeveral(t *testing.T) {
	all := &servers{running: []Instance{talker{text: "a\n"}, talker{}, talker{text: "c\n"}}}
	if got := string(all.Logged(t.Context())); got != "server 1 of 3:\na\nserver 3 of 3:\nc\n" {
		t.Errorf("%q", got)
	}
	if got := string((&servers{running: []Instance{talker{text: "a\n"}}}).Logged(t.Context())); got != "a\n" {
		t.Errorf("alone %q", got)
	}
}

func TestTailTellsItsEnd(t *testing.T) {
	var s tail
	long := strings.Repeat("x", 3*keptOutput)
	_, _ = s.Write([]byte(long))
	_, _ = s.Write([]byte("end"))
	if got := s.news(); len(got) != keptOutput || !bytes.HasSuffix(got, []byte("xend")) {
		t.Errorf("%d bytes", len(got))
	}
	_, _ = s.Write([]byte("more"))
	if got := string(s.news()); got != "more" {
		t.Errorf("%q", got)
	}
}
