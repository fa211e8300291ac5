package kills

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/hosttest"
)

// scene is a study that is killed, in a folder of its own.
type scene struct {
	campaign *campaign
	kind     *victimKind
	tally    *tally
	name     string
	dir      string
	former   []value // settings as they were before the scene
	before   hosttest.Snapshot
	drift    []string
	agents   []*exec.Cmd
	join     []string
	trials   int             // of the run without a kill
	expected map[int]string  // records of trials that ended
	known    map[string]bool // differences that were counted
}

// patience is how long the end of a process, and of what it held, is waited for.
const killPatience = 15 * time.Second

func (s *scene) path(name string) string { return filepath.Join(s.dir, name) }

// open makes the folder and the study, sets up the host and looks at it.
func (s *scene) open() error {
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("study.yaml"), []byte(s.kind.text(s.dir)), 0o644); err != nil {
		return err
	}
	if err := s.setUp(); err != nil {
		return err
	}
	if err := s.keys(); err != nil {
		return err
	}
	first := s.take()
	time.Sleep(300 * time.Millisecond)
	s.before = s.take()
	for name, value := range first {
		if s.before[name] != value {
			s.drift = append(s.drift, name)
		}
	}
	return s.employ()
}

// setUp makes settings of the host that are coupled with those of the study.
func (s *scene) setUp() error {
	for folder, mode := range map[string]os.FileMode{"unfinished": 0o755, "undo": 0o700} { // plimsoll's own, which stay
		if err := os.MkdirAll("/var/lib/plimsoll/"+folder, mode); err != nil {
			return err
		}
	}
	for _, name := range s.kind.after {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s.former = append(s.former, value{name, strings.TrimSpace(string(text))})
	}
	for _, v := range s.kind.before {
		if err := os.WriteFile(v.file, []byte(v.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// close takes back what the scene itself did.
func (s *scene) close() error {
	err := s.dismiss()
	for _, v := range s.former {
		err = errors.Join(err, os.WriteFile(v.file, []byte(v.text), 0o644))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// take is the host as it is, without what others change meanwhile: loop devices, control
// groups that are not plimsoll's, and settings
// that no namespace separates where the study does not touch them.
func (s *scene) take() hosttest.Snapshot {
	cwd, _ := os.Getwd() // the module, in which others may work
	all := hosttest.Take(s.campaign.dir, cwd)
	for name := range all {
		shared := strings.HasPrefix(name, "/proc/sys/vm/") || strings.HasPrefix(name, "/sys/")
		foreign := strings.HasPrefix(name, "control group ") && !strings.Contains(name, "plimsoll")
		if foreign || strings.HasPrefix(name, "/sys/block/loop") || shared && !s.kind.host {
			delete(all, name)
		}
	}
	return all
}

func (s *scene) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.campaign.dir, "plimsoll"), args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "XDG_CACHE_HOME="+cacheFolder())
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// cacheFolder is where kernels of guests lie.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "/root/.cache"
	}
	return dir
}

// verb begins the run, or goes on with it.
func (s *scene) verb() []string {
	if _, err := os.Stat(s.path("out/journal.jsonl")); err == nil {
		return []string{"resume", "out"}
	}
	_ = os.RemoveAll(s.path("out")) // a run that was killed before it began left no journal
	return []string{"run", "study.yaml", "--out", "out", "--seed", "3"}
}

// whole runs another copy of the study to its end.
func (s *scene) whole() error {
	var log bytes.Buffer
	c := s.command("run", "study.yaml", "--out", "whole", "--seed", "3")
	c.Stderr = &log
	if err := c.Run(); err != nil {
		return fmt.Errorf("plimsoll run: %w: %s", err, end(log.Bytes()))
	}
	journal, err := readJournal(s.path("whole/journal.jsonl"))
	if err != nil {
		return err
	}
	for _, e := range journal {
		if e.Kind == "trial ended" {
			s.trials++
		}
	}
	s.compare("a run without a kill")
	return os.RemoveAll(s.path("whole"))
}

// kill starts or resumes the study, kills something of it after a time, and restores. It
// answers whether the study has ended.
func (s *scene) kill(after time.Duration) (over bool, err error) {
	w := s.weapon()
	c := s.command(s.verb()...)
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	defer log.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return false, err
	}
	drained := drain(out, log)
	c.Stdout, c.Stderr = in, in
	if err := c.Start(); err != nil {
		return false, err
	}
	in.Close()
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	what := fmt.Sprintf("%s, %s after %v, %d trials", s.name, w.name, after.Round(time.Millisecond), len(s.expected))
	select {
	case err := <-gone:
		out.Close()
		<-drained
		if err != nil {
			return false, fmt.Errorf("%s: it ended by itself: %w: %s", what, err, s.tail())
		}
		return true, s.look("the end of " + s.name)
	case <-s.due(after):
	}
	s.tally.kills++
	if journal, err := readJournal(s.path("out/journal.jsonl")); err == nil && inEffect(journal) {
		s.tally.inEffect++
	}
	w.use(s, c.Process.Pid, out)
	select {
	case <-gone:
	case <-time.After(2 * time.Minute):
		_ = syscall.Kill(c.Process.Pid, syscall.SIGQUIT)
		return false, fmt.Errorf("%s: it did not end: %s", what, s.tail())
	}
	out.Close()
	<-drained
	if !w.dead {
		s.compare(what)
	}
	if err := s.restore(what); err != nil {
		return false, err
	}
	return false, s.look(what)
}

// due is closed when a run is to be killed: after a time, or after some events and up to a second.
func (s *scene) due(after time.Duration) <-chan struct{} {
	due, events, more := make(chan struct{}), 0, time.Duration(0)
	name := s.path("out/journal.jsonl")
	if s.kind.events > 0 {
		already, _ := readJournal(name) // none yet, or it is read again below
		events, more = len(already)+s.campaign.IntN(s.kind.events)+1, time.Duration(s.campaign.Float64()*float64(time.Second))
	}
	go func() { // ends with the campaign
		defer close(due)
		for events > 0 {
			if journal, _ := readJournal(name); len(journal) >= events {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(after + more)
	}()
	return due
}

// drain copies what a process prints, until the reading end is closed.
func drain(from *os.File, to *os.File) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		_, _ = to.ReadFrom(from) // closed by a kill
	}()
	return done
}

// tail is the end of what plimsoll said.
func (s *scene) tail() string {
	text, _ := os.ReadFile(s.path("log"))
	return string(end(text))
}

func end(text []byte) []byte { return text[max(0, len(text)-2000):] }

// restore puts back what is left, and compares.
func (s *scene) restore(what string) error {
	var out []byte
	var err error
	for deadline := time.Now().Add(killPatience); ; time.Sleep(200 * time.Millisecond) {
		out, err = s.command("restore").CombinedOutput()
		if err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: plimsoll restore: %w: %s", what, err, out)
	}
	if !strings.Contains(string(out), "nothing to restore") {
		s.tally.restores++
	}
	s.compare(what + ", restored")
	return nil
}

// finish resumes the study to its end.
func (s *scene) finish() error {
	var log []byte
	var err error
	for range 3 { // trials of a busy machine may all be void
		if log, err = s.command(s.verb()...).CombinedOutput(); err == nil {
			break
		}
	}
	if err != nil {
		s.tally.ends++
		return fmt.Errorf("resume to the end: %w: %s", err, end(log))
	}
	s.compare(s.name + ", at its end")
	return s.look("the end of " + s.name)
}

// compare counts and prints what is not as it was.
func (s *scene) compare(what string) {
	_ = s.dismiss() // agents are no part of the host as it was
	var lines []string
	for deadline := time.Now().Add(killPatience); ; time.Sleep(100 * time.Millisecond) {
		lines = hosttest.Diff(s.before.Without(s.drift), s.take().Without(s.drift))
		if len(lines) == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, line := range lines {
		if s.known[line] {
			continue
		}
		if s.known == nil {
			s.known = map[string]bool{}
			fmt.Fprintf(os.Stderr, "%s: plimsoll said: %s\n", what, s.tail())
		}
		s.known[line] = true // what stays is counted once
		fmt.Fprintf(os.Stderr, "%s: %s\n", what, line)
		s.tally.differences++
	}
	if len(lines) > 0 {
		s.mend()
	}
	if err := s.employ(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: start agents: %v\n", what, err)
	}
}

// mend sets settings back that plimsoll did not, for the next study.
func (s *scene) mend() {
	for name, value := range s.before {
		if text, err := os.ReadFile(name); strings.HasPrefix(name, "/") && err == nil && strings.TrimSpace(string(text)) != value {
			_ = os.WriteFile(name, []byte(value), 0o644) // some cannot be written
		}
	}
}

// look compares the trials that ended with those that had ended before.
func (s *scene) look(what string) error {
	now := map[int]string{}
	journal, err := readJournal(s.path("out/journal.jsonl"))
	if err != nil {
		return err
	}
	for _, e := range journal {
		if e.Kind != "trial ended" {
			continue
		}
		if _, twice := now[e.Trial]; twice {
			s.tally.repeated++
			fmt.Fprintf(os.Stderr, "%s: trial %d ended twice\n", what, e.Trial)
		}
		record, err := os.ReadFile(s.path(fmt.Sprintf("out/trials/%04d/record.json", e.Trial)))
		if err != nil {
			s.tally.lost++
			fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		}
		now[e.Trial] = string(record)
	}
	for trial, record := range s.expected {
		switch after, there := now[trial]; {
		case !there:
			s.tally.lost++
			fmt.Fprintf(os.Stderr, "%s: trial %d is lost\n", what, trial)
		case after != record:
			s.tally.changed++
			fmt.Fprintf(os.Stderr, "%s: trial %d has changed\n", what, trial)
		}
	}
	s.expected = now
	return nil
}
