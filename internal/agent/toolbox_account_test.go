package agent_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A program that is started as another user has that user's rights and no others.
func TestAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root becomes another user")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	as := func(argv ...string) *exec.Cmd {
		c := exec.Command(self, append([]string{"--reuid=65534", "--regid=65533", "--clear-groups", "--pdeathsig", "keep", "--"}, argv...)...)
		c.Env = append(os.Environ(), "TOOLBOX_PROGRAM=setpriv")
		return c
	}
	out, err := as("cat", "/proc/self/status").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	status := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.Join(strings.Fields(value), " ")
	}
	for name, want := range map[string]string{"Uid": "65534 65534 65534 65534", "Gid": "65533 65533 65533 65533", "Groups": "", "CapEff": "0000000000000000"} {
		if status[name] != want {
			t.Errorf("%s is %q, want %q", name, status[name], want)
		}
	}
	if out, err := as("no-such-program").CombinedOutput(); err == nil || !strings.Contains(string(out), "no-such-program") {
		t.Errorf("%v: %s", err, out)
	}
}
