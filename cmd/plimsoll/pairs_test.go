package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/hosttest"
)

// Of two runs that change one setting at the same time, from folders and users' state of their own, one is refused before it touched anything. Whatever of them
// is killed, the host is as it was after restore.
func TestTwoRunsOfOneSetting(t *testing.T) {
	if !contained(t) {
		return
	}
	former := kept(t, finTimeout)
	l := newLab(t)
	host := hosttest.Watch(t, l.dir)
	levels := two(t, former)
	l.write("0.yaml", studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", levels...))
	l.write("1.yaml", strings.Replace(studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", levels[1], levels[0]), "study: changes", "study: other", 1))
	random := rand.New(rand.NewPCG(1, 2))
	refused, killed, pairs := 0, 0, effort.Rate(8, 20)
	for n := range pairs {
		var runs [2]*exec.Cmd
		var said [2]*bytes.Buffer
		for i := range runs {
			// Each has a state folder of its own, as different users have.
			c := l.command("run", fmt.Sprintf("%d.yaml", i), "--quiet", "--out", fmt.Sprintf("out-%d-%d", n, i))
			c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(l.dir, fmt.Sprint("state", i)))
			said[i] = new(bytes.Buffer)
			c.Stdout, c.Stderr = said[i], said[i]
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			runs[i] = c
		}
		<-time.After(time.Duration(random.IntN(900)) * time.Millisecond)
		for _, c := range runs {
			if random.IntN(2) == 0 {
				_ = c.Process.Kill()
			} else {
				_ = c.Process.Signal(os.Interrupt)
			}
		}
		for i, c := range runs {
			_ = c.Wait()
			switch c.ProcessState.ExitCode() {
			case 2:
				refused++
				if !strings.Contains(said[i].String(), "tcp_fin_timeout") || !strings.Contains(said[i].String(), "results folder "+l.dir) {
					t.Errorf("pair %d: it does not say who uses the setting: %s", n, said[i])
				}
				if _, err := os.Stat(filepath.Join(l.dir, fmt.Sprintf("out-%d-%d", n, i))); err == nil {
					t.Errorf("pair %d: a run that was refused left its results folder", n)
				}
			case -1:
				killed++
			}
		}
		for i := range runs {
			c := l.command("restore")
			c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(l.dir, fmt.Sprint("state", i)))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("pair %d: restore: %v: %s", n, err, out)
			}
		}
		if now := value(t, finTimeout); now != former {
			t.Fatalf("pair %d: tcp_fin_timeout is %s after restore, it was %s", n, now, former)
		}
	}
	t.Logf("%d pairs: %d runs refused, %d killed", pairs, refused, killed)
	if refused == 0 || killed == 0 {
		t.Error("nothing was tried")
	}
	host.Unchanged(t)
}

// A setting of a dead run is refused to others, who are told the command that puts it back; restore and resume of that run take it over.
func TestSettingOfADeadRun(t *testing.T) {
	if !contained(t) {
		return
	}
	former := kept(t, finTimeout)
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo")
	l := newLab(t)
	host := hosttest.Watch(t, l.dir)
	l.write("study.yaml", studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", two(t, former)...))
	c, _ := l.start("run", "study.yaml", "--quiet", "--out", "dead")
	l.until(finTimeout, former)
	live := l.plimsoll(2, "run", "study.yaml", "--quiet", "--out", "second")
	if want := fmt.Sprintf("is in use by another run (process %d of user 0, results folder %s/dead)", c.Process.Pid, l.dir); !strings.Contains(live, want) || strings.Count(live, "\n") != 1 {
		t.Errorf("beside a live run: %s, want %s", live, want)
	}
	if said := l.plimsoll(2, "restore", "dead"); !strings.Contains(said, "is in use by another plimsoll") {
		t.Errorf("restore of a live run: %s", said)
	}
	if said := l.plimsoll(0, "restore"); said != "nothing to restore\n" {
		t.Errorf("restore beside a live run: %s", said)
	}
	l.kill(c)
	said := l.plimsoll(2, "run", "study.yaml", "--quiet", "--out", "second")
	if want := "plimsoll restore " + l.dir + "/dead"; !strings.Contains(said, want) {
		t.Errorf("beside a dead run: %s, want %s", said, want)
	}
	c, out := l.start("resume", "dead", "--quiet")
	l.until(finTimeout, value(t, finTimeout))
	l.kill(c)
	_ = out
	l.plimsoll(0, "restore", "dead")
	if now := value(t, finTimeout); now != former {
		t.Errorf("tcp_fin_timeout is %s, it was %s", now, former)
	}
	c, out = l.start("run", "study.yaml", "--quiet", "--out", "third")
	l.until(finTimeout, former)
	_ = c.Process.Signal(os.Interrupt)
	l.ended(c, out, 3)
	host.Unchanged(t)
}
