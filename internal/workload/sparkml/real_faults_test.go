package sparkml

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// processes are those of the cluster with a word in their command line, by their number.
func (g grid) processes(t *testing.T, word string) (all []int) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range folders {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		at, gone := os.Readlink(link)
		if err != nil || gone != nil || !strings.HasPrefix(at+"/", g.dir+"/") || !strings.Contains(string(text), word) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	slices.Sort(all)
	return all
}

// signal sends a signal to the last process of the cluster with a word in its command line.
func (g grid) signal(t *testing.T, word string, s syscall.Signal) {
	t.Helper()
	all := g.processes(t, word)
	if len(all) == 0 {
		t.Errorf("no process %s is in %s", word, g.dir)
		return
	}
	if err := syscall.Kill(all[len(all)-1], s); err != nil {
		t.Error(err)
	}
}

const (
	ofExecutor = "CoarseGrainedExecutorBackend"
	ofWorker   = "deploy.worker.Worker"
	ofStarter  = "start.sh"
)

func few() parameter.Settings {
	return parameter.Settings{"rows": "5000", "features": "10", "clusters": "5", "iterations": "5", "discards": "0", "driver_memory": "600MiB"}
}

// An executor that is killed is replaced: the training ends, and the trial is marked.
func TestRealLostExecutor(t *testing.T) {
	e := really(t)
	effort.Deep(t, "kill an executor")
	g := on(t, e, "2")
	out, err := meanwhile(t, g.env, few(), func(n int) bool {
		if n == 2 {
			g.signal(t, ofExecutor, syscall.SIGKILL)
		}
		return n >= 5
	})
	if err != nil {
		t.Fatal(err)
	}
	marked(t, out)
}

// marked checks that the loss of an executor is told, and that the quality is that of the others.
func marked(t *testing.T, out *measure.Recorder) {
	t.Helper()
	if c := check(out, "executors"); c.State != measure.Fail {
		t.Errorf("%+v", c)
	}
	if c := check(out, "quality"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
	t.Log(check(out, "executors").Detail)
}

// A worker that dies takes its executor along. The training ends on the other, as of a master you provide, and the trial
// is marked; a cluster of ours has died with it. A master that has gone is one line.
func TestRealLostWorker(t *testing.T) {
	e := really(t)
	effort.Deep(t, "kill a worker")
	g := on(t, e, "2")
	g.signal(t, ofStarter, syscall.SIGSTOP) // it would end the cluster
	out, err := meanwhile(t, g.env, few(), func(n int) bool {
		if n == 2 {
			g.signal(t, ofExecutor, syscall.SIGKILL)
			g.signal(t, ofWorker, syscall.SIGKILL)
		}
		return n >= 5
	})
	if err != nil {
		t.Error(err)
	} else {
		marked(t, out)
	}
	g.signal(t, ofStarter, syscall.SIGCONT)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	died := g.instance.(service.FailureReporter)
	for died.Died() == nil {
		<-again.C
	}
	if err := died.Died(); !strings.Contains(err.Error(), "of 2 ended with signal 9") {
		t.Errorf("a worker that was killed: %v", err)
	}
	_, err = trainedOn(t, g.env, few(), 1)
	if err == nil || !strings.Contains(err.Error(), "ask the master") || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a master that has gone: %v", err)
	}
}

// A driver without memory, and a local folder without space, tell the cause.
func TestRealFailures(t *testing.T) {
	e := really(t)
	effort.Deep(t, "have the driver run out of memory and its disk out of space")
	t.Run("memory", func(t *testing.T) {
		_, err := trainedOn(t, e, parameter.Settings{"rows": "3000000", "features": "60", "partitions": "2", "algorithm": "logistic", "storage": "memory-disk", "driver_memory": "512MiB"}, 1)
		if err == nil || !strings.Contains(err.Error(), "raise sparkml.driver_memory") {
			t.Errorf("out of memory: %v", err)
		}
	})
	t.Run("disk", func(t *testing.T) {
		local := filepath.Join(folder(e), "local")
		if err := os.MkdirAll(local, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("plimsoll", local, "tmpfs", 0, "size=8m"); err != nil {
			t.Skipf("no file system can be mounted: %v", err)
		}
		defer func() {
			if err := syscall.Unmount(local, 0); err != nil {
				t.Error(err)
			}
		}()
		_, err := trainedOn(t, e, parameter.Settings{"rows": "200000", "features": "20", "storage": "disk", "driver_memory": "512MiB"}, 1)
		if err == nil || !strings.Contains(err.Error(), "the disk with Spark's local folder is full") || strings.Contains(err.Error(), "\n") {
			t.Errorf("no space: %v", err)
		}
	})
}
