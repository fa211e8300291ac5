package owner

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestLifeOfALab(t *testing.T) {
	own, err := labOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	parent, err := This(true) // a load in a process of its own
	if err != nil || parent.Process != os.Getppid() {
		t.Errorf("the lab of a load is %v, %v", parent, err)
	}
	child := exec.Command("sleep", "100")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	killed, err := labOf(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if l := killed.Life(); l != Running {
		t.Errorf("a process that runs is %s", l)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if l := killed.Life(); l != Dead {
		t.Errorf("a process that was killed is %s", l)
	}
	reused, rebooted, elsewhere, contained := own, own, own, own
	reused.started--
	rebooted.boot = "an earlier one"
	elsewhere.host = "elsewhere"
	contained.space = "pid:[1]"
	for want, m := range map[Life][]Lab{Running: {own, parent}, Dead: {reused, rebooted}, Unknown: {elsewhere, contained}} {
		for _, m := range m {
			if l := m.Life(); l != want {
				t.Errorf("%v is %s, want %s", m, l, want)
			}
			name := Names("an owner", m) + "1"
			if is, tagged := tagIn(name); !tagged || is != tagOf("an owner", m) || is.life() != want {
				t.Errorf("the name %s of a VM of %v is of a lab that is %s, want %s", name, m, is.life(), want)
			}
			if again, err := LabIn("made by\nowner x\n" + m.String() + "\n"); err != nil || again != m {
				t.Errorf("%v is read as %v, %v", m, again, err)
			}
		}
	}
}

func FuzzParseLab(f *testing.F) {
	f.Add("process 1, started 2, boot b, namespace pid:[3], host h, host i")
	f.Add("process 1, started 2, boot , namespace , host ")
	f.Fuzz(func(t *testing.T, line string) {
		if m, err := parseLab(line); err == nil && m.String() != line {
			t.Errorf("%q is read as %q", line, m)
		}
	})
}

func FuzzTag(f *testing.F) {
	f.Add("plimsoll-op-abcdefghijklmnop27-base-0-000001")
	f.Add("plimsoll-op-abcdefghijklmnop27")
	f.Add("plimsoll-op-base-0-000001")
	f.Add("plimsoll-op-abcdefghijklmnop2\xff-1")
	f.Fuzz(func(t *testing.T, name string) {
		if is, tagged := tagIn(name); tagged && !strings.HasPrefix(name, Prefix+is.owner+is.site+is.lab+"-") {
			t.Errorf("%q is read as %q", name, is)
		}
	})
}
