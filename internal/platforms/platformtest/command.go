package platformtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

func (s *suite) commands(t *testing.T) {
	_, err := s.open(t).Machine().Run(t.Context(), platform.Command{Argv: []string{"true"}})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Log("this platform runs no commands: only the rest is tested")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Run("end", s.end)
	t.Run("stdin", s.stdin)
	t.Run("stream", s.stream)
	t.Run("stderr", s.stderr)
	t.Run("stop", s.stop)
	t.Run("cancel", s.cancel)
}

func shell(script string) []string { return []string{"sh", "-c", script} }

func (s *suite) end(t *testing.T) {
	m := s.open(t).Machine()
	dir := s.options.Dir(t)
	for _, c := range []struct {
		name    string
		command platform.Command
		want    platform.Result
	}{
		{"success", platform.Command{Argv: shell("echo out; echo err >&2")}, platform.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		{"joined", platform.Command{Argv: shell("echo out; echo err >&2; echo out"), Joined: true}, platform.Result{Stdout: []byte("out\nerr\nout\n")}},
		{"status", platform.Command{Argv: shell("exit 3")}, platform.Result{Exit: 3}},
		{"worker", platform.Command{Argv: shell("exit 4"), Worker: true}, platform.Result{Exit: 4}},
		{"signal", platform.Command{Argv: shell("kill -TERM $$")}, platform.Result{Exit: -1, Signal: "SIGTERM"}},
		{"folder", platform.Command{Argv: []string{"pwd"}, Dir: dir}, platform.Result{Stdout: []byte(dir + "\n")}},
		{"no shell", platform.Command{Argv: []string{"echo", "$HOME *"}}, platform.Result{Stdout: []byte("$HOME *\n")}},
	} {
		r, err := m.Run(t.Context(), c.command)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Exit != c.want.Exit || r.Signal != c.want.Signal || !bytes.Equal(r.Stdout, c.want.Stdout) || !bytes.Equal(r.Stderr, c.want.Stderr) {
			t.Errorf("%s: got %+v, want %+v", c.name, r, c.want)
		}
	}
	for _, argv := range [][]string{{"/nowhere/program"}, nil} {
		if r, err := m.Run(t.Context(), platform.Command{Argv: argv}); err == nil {
			t.Errorf("%q, which cannot start, gives %+v and no error", argv, r)
		}
	}
}

func (s *suite) stdin(t *testing.T) {
	text := strings.Repeat("what goes in comes out\n", 10000)
	r, err := s.open(t).Machine().Run(t.Context(), platform.Command{Argv: []string{"cat"}, Stdin: strings.NewReader(text)})
	if err != nil || string(r.Stdout) != text {
		t.Errorf("%d bytes in, %d out, %v", len(text), len(r.Stdout), err)
	}
}

// lines hands on each line that a command prints.
type lines struct {
	part []byte
	each func(line string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	for {
		line, rest, found := bytes.Cut(l.part, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.part = rest
		l.each(string(line))
	}
}

// The command waits for an answer to its first line, which it gets only when
// its output comes while it runs.
func (s *suite) stream(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), s.options.Patience)
	defer cancel()
	in, answer := io.Pipe()
	// A machine that hands on no output gets no answer, but an end.
	context.AfterFunc(ctx, func() { _ = answer.CloseWithError(ctx.Err()) })
	var got []string
	r, err := s.open(t).Machine().Run(ctx, platform.Command{
		Argv:  shell(`echo question; read -r a; echo "$a"`),
		Stdin: in,
		Stdout: &lines{each: func(line string) {
			got = append(got, line)
			if line == "question" {
				go func() {
					_, err := io.WriteString(answer, "answer\n")
					_ = answer.CloseWithError(err) // nil is the end of the text
				}()
			}
		}},
	})
	if err != nil || r.Exit != 0 || strings.Join(got, " ") != "question answer" {
		t.Errorf("got %q, %+v, %v", got, r, err)
	}
	if len(r.Stdout) > 0 {
		t.Errorf("streamed output is collected as well: %d bytes", len(r.Stdout))
	}
}

func (s *suite) stderr(t *testing.T) {
	r, err := s.open(t).Machine().Run(t.Context(), platform.Command{Argv: shell("head -c 300000 /dev/zero | tr '\\0' x >&2; printf end >&2")})
	if err != nil || len(r.Stderr) != 64<<10 || !bytes.HasSuffix(r.Stderr, []byte("xend")) {
		t.Errorf("kept %d bytes of 300003, %v", len(r.Stderr), err)
	}
}

func (s *suite) stop(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), s.options.Patience)
	defer cancel()
	stop := make(chan struct{})
	var got []string
	r, err := s.open(t).Machine().Run(ctx, platform.Command{
		// The trap is the graceful end: its output must still arrive.
		Argv: shell("trap 'echo last; exit 7' INT; echo ready; while :; do sleep 0.05; done"),
		Stop: stop,
		Stdout: &lines{each: func(line string) {
			got = append(got, line)
			if line == "ready" {
				close(stop)
			}
		}},
	})
	if err != nil || r.Exit != 7 || r.Signal != "" || strings.Join(got, " ") != "ready last" {
		t.Errorf("got %q, exit %d, signal %q, %v", got, r.Exit, r.Signal, err)
	}
}

func (s *suite) cancel(t *testing.T) {
	m := s.open(t).Machine()
	cause := errors.New("the test is complete")
	ctx, cancel := context.WithCancelCause(t.Context())
	var child string
	ended := make(chan error, 1)
	go func() {
		_, err := m.Run(ctx, platform.Command{
			// Neither obeys an interrupt, so that only force ends them.
			Argv: shell("trap '' INT TERM; sh -c 'trap \"\" INT TERM; echo $$; exec sleep 300' & wait"),
			Stdout: &lines{each: func(line string) {
				child = line
				cancel(cause)
			}},
		})
		ended <- err
	}()
	timer := time.NewTimer(s.options.Patience)
	defer timer.Stop()
	select {
	case err := <-ended:
		if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled command gives %v", err)
		}
	case <-timer.C:
		t.Fatalf("a cancelled command went on for %s", s.options.Patience)
	}
	alive := func() bool {
		stat, err := m.ReadFile(t.Context(), fmt.Sprintf("/proc/%s/stat", child))
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}
	s.until(t, "the cancelled command's child is gone", func() bool { return !alive() })
	if alive() {
		_, err := m.Run(t.Context(), platform.Command{Argv: []string{"kill", "-KILL", child}})
		t.Logf("the child was ended by the test: %v", err)
	}
	if r, err := m.Run(ctx, platform.Command{Argv: []string{"true"}}); err == nil {
		t.Errorf("a command with a cancelled context gives %+v and no error", r)
	}
}
