package factor

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCommandReadsAppliesAndRestores(t *testing.T) {
	file := scratchFile(t, "off\n")
	f := Command("knob", "cat "+file, "echo {level} > "+file, "echo back to {level} > "+file)
	p := Env{Machine: recorded(t)}
	if f.Name != "command.knob" {
		t.Errorf("name %q", f.Name)
	}
	before, err := f.Get(t.Context(), p)
	if err != nil || before != "off" {
		t.Fatalf("before: %q, %v", before, err)
	}
	for _, level := range []string{"on", "two words", "$(touch " + file + ".bad)", "`id`", "a'b\"c", "; exit 9", "*"} {
		if err := f.Set(t.Context(), p, level); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Get(t.Context(), p); err != nil || got != level {
			t.Errorf("got %q, %v, want %q", got, err, level)
		}
	}
	if _, err := os.Stat(file + ".bad"); !os.IsNotExist(err) {
		t.Error("a level was run as a command")
	}
	if err := f.RestoreLevel(t.Context(), p, before); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Get(t.Context(), p); err != nil || got != "back to off" {
		t.Errorf("restore left %q, %v", got, err)
	}
	again := Command("knob", "cat "+file, "echo {level} > "+file, "")
	if err := again.RestoreLevel(t.Context(), p, before); err != nil {
		t.Fatal(err)
	}
	if got, err := again.Get(t.Context(), p); err != nil || got != "off" {
		t.Errorf("apply as restore left %q, %v", got, err)
	}
}

func TestCommandReportsFailure(t *testing.T) {
	f := Command("knob", "echo gone wrong >&2; exit 4", "exit 5", "")
	p := Env{Machine: recorded(t)}
	if _, err := f.Get(t.Context(), p); err == nil || !strings.Contains(err.Error(), "read command.knob: the command exited with status 4: gone wrong") {
		t.Errorf("got %v", err)
	}
	if err := f.Set(t.Context(), p, "x"); err == nil || !strings.Contains(err.Error(), `apply command.knob at level "x": the command exited with status 5`) {
		t.Errorf("got %v", err)
	}
}

func TestLevelIsQuotedWhereverItStands(t *testing.T) {
	level := `a  b'c"d$HOME`
	for script, want := range map[string]string{
		`printf %s {level}`:            level,
		`printf %s "<{level}>"`:        "<" + level + ">",
		`printf %s '<{level}>'`:        "<" + level + ">",
		`printf %s x{level}y`:          "x" + level + "y",
		`printf %s "it's {level}"`:     "it's " + level,
		`printf %s 'say "{level}"'`:    `say "` + level + `"`,
		`printf %s \'{level}`:          "'" + level,
		`printf %s "\"{level}"`:        `"` + level,
		`printf %s {level}; : {level}`: level,
		`printf %s none`:               "none",
	} {
		out, err := exec.Command("sh", "-c", withArgument(script), "sh", level).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: got %q, %v, want %q", script, out, err, want)
		}
	}
}

// Whatever the quotes, each place of the level becomes the argument once, and
// the rest of the script stays.
func FuzzWithArgument(f *testing.F) {
	f.Add("echo {level}")
	f.Add(`echo "{level}' {level}`)
	f.Add("# don't\necho {level}")
	f.Fuzz(func(t *testing.T, script string) {
		if strings.ContainsAny(script, "\\$") {
			return
		}
		got := withArgument(script)
		if strings.Count(got, "${1}") != strings.Count(script, "{level}") || strings.Contains(got, "{level}") {
			t.Errorf("%q became %q", script, got)
		}
		bare := strings.NewReplacer(`"`, "", `'`, "", "${1}", "", "{level}", "")
		if bare.Replace(got) != bare.Replace(script) {
			t.Errorf("%q became %q", script, got)
		}
	})
}
