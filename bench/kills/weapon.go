package kills

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/agent/fabric"
)

// weapon is a way to end a run.
type weapon struct {
	name string
	dead bool // the lab itself dies at once, so that restore is needed
	use  func(s *scene, lab int, output *os.File)
}

// weapon draws one: half of all are SIGKILL of the lab.
func (s *scene) weapon() weapon {
	signal := func(all ...syscall.Signal) func(*scene, int, *os.File) {
		return func(_ *scene, lab int, _ *os.File) {
			for _, one := range all {
				_ = syscall.Kill(lab, one) // it may have ended
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	kill := weapon{"SIGKILL", true, signal(syscall.SIGKILL)}
	others := []weapon{
		{"SIGTERM", false, signal(syscall.SIGTERM)},
		{"SIGHUP", false, signal(syscall.SIGHUP)},
		{"SIGTERM twice", false, signal(syscall.SIGTERM, syscall.SIGTERM)},
		{"SIGINT and a closed pipe", false, func(_ *scene, lab int, output *os.File) {
			output.Close()
			_ = syscall.Kill(lab, syscall.SIGINT) // it may have ended
		}},
		{"SIGTERM, then SIGKILL", true, signal(syscall.SIGTERM, syscall.SIGKILL)},
		{"death of a process", false, func(s *scene, lab int, _ *os.File) { s.strike(lab); _ = syscall.Kill(lab, syscall.SIGTERM) }},
		{"death of a process and the lab", true, func(s *scene, lab int, _ *os.File) { s.strike(lab); _ = syscall.Kill(lab, syscall.SIGKILL) }},
	}
	if len(s.agents) > 0 {
		others = append(others,
			weapon{"death of an agent", false, func(s *scene, lab int, _ *os.File) { s.bereave(lab, syscall.SIGTERM) }},
			weapon{"death of agent and lab", true, func(s *scene, lab int, _ *os.File) { s.bereave(lab, syscall.SIGKILL) }},
		)
	}
	if s.campaign.IntN(2) == 0 {
		return kill
	}
	return others[s.campaign.IntN(len(others))]
}

// bereave kills an agent and ends the lab. The agent is started again, as its supervisor does: what it had changed, nobody else
// can put back.
func (s *scene) bereave(lab int, end syscall.Signal) {
	_ = s.agents[0].Process.Kill() // it may have ended
	_ = syscall.Kill(lab, end)
	_ = s.agents[0].Wait() // it was killed
	again, err := s.hire(0)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: start an agent again: %v\n", s.name, err)
		return
	}
	s.agents[0] = again
}

// strike kills one of the processes below the lab, but not its guard, which is there for its death.
func (s *scene) strike(lab int) {
	below := descendants(lab)
	for _, c := range s.agents {
		below = append(below, descendants(c.Process.Pid)...)
	}
	if len(below) > 0 {
		_ = syscall.Kill(below[s.campaign.IntN(len(below))], syscall.SIGKILL) // it may have ended
	}
}

// descendants are the processes below one, without guards.
func descendants(of int) (all []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		stat, err := os.ReadFile(dir + "/stat")
		_, rest, found := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if err != nil || !found || len(fields) < 2 || fields[1] != strconv.Itoa(of) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if line, _ := os.ReadFile(dir + "/cmdline"); !strings.HasPrefix(string(line), "sh\x00-c\x00") {
			all = append(append(all, pid), descendants(pid)...)
		}
	}
	return all
}

// keys lets the agents of a fleet in, and learns how they join.
func (s *scene) keys() error {
	if s.kind.agents == 0 {
		return nil
	}
	for i := range s.kind.agents {
		key, err := fabric.KeepKey(s.path(fmt.Sprint("key-", i)))
		if err == nil {
			err = fabric.Allow(s.path("lab/agents"), key.Public())
		}
		if err != nil {
			return err
		}
	}
	printed, err := s.command("agent", "show", "--listen", "127.0.0.1:4222", "--state", s.path("lab"), "--wait", "1ms").CombinedOutput()
	found := regexp.MustCompile(`--lab (\S+) --key FILE --lab-key (\S+)`).FindStringSubmatch(string(printed))
	if err != nil || found == nil {
		return fmt.Errorf("start the lab of a fleet: %w: %s", err, printed)
	}
	s.join = []string{"--lab", found[1], "--lab-key", found[2]}
	return nil
}

// employ starts the agents of a fleet.
func (s *scene) employ() error {
	for i := range s.kind.agents {
		c, err := s.hire(i)
		if err != nil {
			return err
		}
		s.agents = append(s.agents, c)
	}
	return nil
}

// hire starts an agent.
func (s *scene) hire(i int) (*exec.Cmd, error) {
	name := fmt.Sprintf("agent-%02d", i)
	c := s.command(append([]string{"agent", "--name", name, "--key", s.path(fmt.Sprint("key-", i)), "--state", s.path(name + "/state"), "--scratch", s.path(name + "/scratch")}, s.join...)...)
	log, err := os.OpenFile(s.path("log-"+name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.Stderr = log
	return c, c.Start()
}

// dismiss ends the agents and waits until they have put everything back.
func (s *scene) dismiss() error {
	all := s.agents
	s.agents = nil
	for _, c := range all {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have been killed
		late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
		_ = c.Wait() // killed or not
		if !late.Stop() {
			return fmt.Errorf("%s did not end", strings.Join(c.Args, " "))
		}
	}
	return nil
}
