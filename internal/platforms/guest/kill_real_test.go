package guest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

// labAgent names the agent of a lab that is a process of its own, below.
const labAgent = "PLIMSOLL_TEST_LAB_AGENT"

// small is as little as guests need.
func small(s *spec.Guest) { s.Memory, s.DiskSize, s.Network = 128<<20, 64<<20, true }

// TestALab is no test: the next one starts it, and kills it.
func TestALab(t *testing.T) {
	agent := os.Getenv(labAgent)
	if agent == "" {
		t.Skip("TestNothingIsLeftOfALabThatIsKilled starts it")
	}
	cache, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.Find(cache)
	if err != nil {
		t.Fatal(err)
	}
	s := kind().Defaults.(spec.Guest)
	s.Accelerator = "tcg"
	small(&s)
	b, err := newTestbed(supply.Supply{Agent: agent, Kernel: k, Cache: cache}, s, local.Kind(), platform.Kind{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Members(t.Context(), platform.Group{Name: "many", Machines: 2}); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nhome %s\n", b.home.Path)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A lab that is killed takes its guests along, and its folder goes when the next one comes.
func TestNothingIsLeftOfALabThatIsKilled(t *testing.T) {
	b := booted(t, small)
	lab := exec.Command(os.Args[0], "-test.run", "^TestALab$")
	lab.Env = append(os.Environ(), labAgent+"="+b.supply.Agent)
	in, err := lab.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := lab.StdoutPipe()
	if err == nil {
		err = lab.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	home := ""
	for lines := bufio.NewScanner(out); home == "" && lines.Scan(); {
		home, _ = strings.CutPrefix(lines.Text(), "home ")
		if home == lines.Text() {
			t.Log(home)
			home = ""
		}
	}
	if err := lab.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = lab.Wait()
	if home == "" {
		t.Fatal("the lab did not come up")
	}
	gone := time.NewTicker(20 * time.Millisecond)
	defer gone.Stop()
	for range 250 {
		if exec.Command("pgrep", "-f", "qemu-system.*"+home+"/").Run() != nil {
			break
		}
		<-gone.C
	}
	if left, err := exec.Command("pgrep", "-fa", "qemu-system.*"+home+"/").Output(); err == nil {
		t.Errorf("QEMUs are left 5 s after their lab: %s", left)
	}
	if _, err := folder.Sweep(os.TempDir(), folderPrefix); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); err == nil {
		t.Errorf("%s is left", home)
	}
}
