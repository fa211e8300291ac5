package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/catalog"
	"plimsoll/internal/effort"
	"plimsoll/internal/lab"
)

func TestMain(m *testing.M) {
	// The test binary stands for plimsoll where plimsoll starts itself.
	if status, ok := serve(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(status)
	}
	if err := flag.Set("test.parallel", "6"); err != nil { // most wait for processes; the command line may say otherwise
		panic(err)
	}
	testscript.Main(inMemory{m}, map[string]func(){
		"plimsoll": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) },
		workerName: func() {
			if err := serveCommands(os.Stdin, os.Stdout); err != nil {
				panic(err)
			}
		},
	})
}

// inMemory are tests whose scripts run in memory. The programs that they start stay on disk: memory
// may be no place to run them from.
type inMemory struct{ m *testing.M }

// Run runs them.
func (i inMemory) Run() int {
	effort.InMemory()
	effort.CollectSeldom()
	return i.m.Run()
}

// TestScript runs whole sessions. In them, "status N COMMAND..." wants exactly
// that exit status, "mistake COMMAND..." wants a mistake as the user should see
// it, and "json FILE" wants a JSON document. Where they run, $BIN holds nothing
// but plimsoll. What "exec" runs is always a process of its own; the others run
// plimsoll in one that is kept, where it changes no host.
func TestScript(t *testing.T) {
	t.Parallel()
	c := newWorkers(t)
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: t.TempDir(), // testscript leaves its own unless all scripts are run
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			bin, _, _ := strings.Cut(e.Getenv("PATH"), string(os.PathListSeparator))
			e.Setenv("BIN", bin)
			e.Setenv("GOGC", "400") // hundreds of programs that live for milliseconds need not collect their garbage
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "real":
				return os.Getenv("PLIMSOLL_REAL") != "", nil
			case "root":
				return os.Geteuid() == 0, nil
			case "fio", "mkfs.ext4":
				_, err := exec.LookPath(name)
				return err == nil, nil
			case "cpufreq":
				_, err := os.Stat("/sys/devices/system/cpu/cpu0/cpufreq")
				return err == nil, nil
			case "powercap":
				_, err := os.Stat("/sys/class/powercap/intel-rapl:0")
				return err == nil, nil
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  c.status,
			"mistake": c.mistaken,
			"json":    wantJSON,
			"edit":    edit,
		},
	})
}

func (c *workers) status(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	c.want(ts, want, args[1:], apart(args[2:]))
}

// want runs a command line, in a process of its own if need be, which ends with the status, and
// returns what it wrote.
func (c *workers) want(ts *testscript.TestScript, status int, args []string, own bool) (stdout, stderr string) {
	var o result
	if args[0] == "plimsoll" && !own {
		o = c.run(ts, args[1:])
		_, err := ts.Stdout().Write(o.Stdout)
		ts.Check(err)
		_, err = ts.Stderr().Write(o.Stderr)
		ts.Check(err)
	} else {
		var exit *exec.ExitError
		if err := ts.Exec(args[0], args[1:]...); errors.As(err, &exit) {
			o.Status = exit.ExitCode()
		} else if err != nil {
			ts.Fatalf("%s: %v", args[0], err)
		}
		o.Stdout, o.Stderr = []byte(ts.ReadFile("stdout")), []byte(ts.ReadFile("stderr"))
	}
	if o.Status != status {
		ts.Fatalf("exit status %d, want %d; standard error: %s", o.Status, status, o.Stderr)
	}
	return string(o.Stdout), string(o.Stderr)
}

// mistaken wants status 2, one line of complaint and no other word, and no
// results folder (which such scripts call "out"), or an empty one.
func (c *workers) mistaken(ts *testscript.TestScript, _ bool, args []string) {
	out, complaint := c.want(ts, 2, args, slices.Contains(args, "-"))
	if out != "" {
		ts.Fatalf("a mistake printed results: %q", out)
	}
	if !complaintLine.MatchString(complaint) {
		ts.Fatalf("a mistake takes one line that begins with the program or with file:line:column, not %q", complaint)
	}
	if entries, err := os.ReadDir(ts.MkAbs("out")); err == nil && len(entries) > 0 {
		ts.Fatalf("a mistake left %d entries in the results folder, such as %s", len(entries), entries[0].Name())
	}
}

var complaintLine = regexp.MustCompile(`^(plimsoll|[^:\n]+:\d+:\d+): [^\n]+\n$`)

func wantJSON(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		var v any
		if err := json.NewDecoder(bytes.NewBufferString(ts.ReadFile(name))).Decode(&v); err != nil {
			ts.Fatalf("%s: %v", name, err)
		}
	}
}

// edit replaces what a regular expression matches in a file, which must be there.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE PATTERN REPLACEMENT")
	}
	re := regexp.MustCompile(args[1])
	text := ts.ReadFile(args[0])
	if !re.MatchString(text) {
		ts.Fatalf("%s holds nothing like %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(re.ReplaceAllString(text, args[2])), 0o644))
}

func TestEveryCommandHasAnExample(t *testing.T) {
	c := &command{lab: &lab.Lab{Catalog: catalog.All()}}
	all := c.root().Commands()
	for len(all) > 0 {
		cmd := all[0]
		all = all[1:]
		if cmd.Name() != "completion" { // whose commands are cobra's
			all = append(all, cmd.Commands()...)
		}
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example or no description", cmd.CommandPath())
		}
	}
}
