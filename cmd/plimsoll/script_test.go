package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/catalog"
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
	testscript.Main(m, map[string]func(){
		"plimsoll": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestScript runs whole sessions. In them, "status N COMMAND..." wants exactly
// that exit status, "mistake COMMAND..." wants a mistake as the user should see
// it, and "json FILE" wants a JSON document. Where they run, $BIN holds nothing
// but plimsoll.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
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
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  status,
			"mistake": mistaken,
			"json":    wantJSON,
			"edit":    edit,
		},
	})
}

func status(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// mistaken wants status 2, one line of complaint and no other word, and no
// results folder (which such scripts call "out"), or an empty one.
func mistaken(ts *testscript.TestScript, neg bool, args []string) {
	status(ts, neg, append([]string{"2"}, args...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("a mistake printed results: %q", out)
	}
	complaint := ts.ReadFile("stderr")
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
