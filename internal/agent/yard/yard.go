// Package yard makes network namespaces for tests and benchmarks of fleets: one for the
// lab and one for each agent, on a bridge, with processes in them. Nothing of the host's own
// network is touched, and nothing is left.
package yard

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Yard is a lab's namespace and those of its agents.
type Yard struct {
	agents int
	prefix string
}

const (
	prefix = "plimsoll-yard-"
	bridge = "yard"
	// Address is where the lab is.
	Address = "10.78.0.1"
	mask    = "/16"
)

// Open makes a yard. It first removes those of processes that died. It takes root.
func Open(agents int) (*Yard, error) {
	if err := sweep(); err != nil {
		return nil, err
	}
	y := &Yard{agents: agents, prefix: prefix + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:6] + "-"}
	if err := y.build(); err != nil {
		return nil, errors.Join(err, y.Close())
	}
	return y, nil
}

// Lab is the name of the lab's namespace.
func (y *Yard) Lab() string { return y.prefix + "lab" }

// Agent is the name of an agent's namespace. Agents count from 0.
func (y *Yard) Agent(i int) string { return y.prefix + strconv.Itoa(i) }

// AgentAddress is where an agent is.
func (y *Yard) AgentAddress(i int) string { return fmt.Sprintf("10.78.%d.%d", 1+i/200, 1+i%200) }

func port(i int) string { return "a" + strconv.Itoa(i) }

func (y *Yard) build() error {
	lab := y.Lab()
	names := []string{lab}
	inLab := []string{"link set lo up", "link add " + bridge + " type bridge", "addr add " + Address + mask + " dev " + bridge, "link set " + bridge + " up"}
	for i := range y.agents {
		names = append(names, y.Agent(i))
		inLab = append(inLab, "link add "+port(i)+" type veth peer name eth0 netns "+y.Agent(i), "link set "+port(i)+" master "+bridge+" up")
	}
	var add strings.Builder
	for _, name := range names {
		fmt.Fprintln(&add, "netns add "+name)
	}
	if err := batch("", add.String()); err != nil {
		return err
	}
	if err := batch(lab, strings.Join(inLab, "\n")+"\n"); err != nil {
		return err
	}
	for i := range y.agents {
		if err := batch(y.Agent(i), "link set lo up\naddr add "+y.AgentAddress(i)+mask+" dev eth0\nlink set eth0 up\n"); err != nil {
			return err
		}
	}
	return nil
}

// batch runs commands of ip(8) in a namespace, of the host for none.
func batch(namespace, commands string) error {
	args := []string{"-batch", "-"}
	if namespace != "" {
		args = []string{"-n", namespace, "-batch", "-"}
	}
	c := exec.Command("ip", args...)
	c.Stdin = strings.NewReader(commands)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("make network namespaces: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Command is a command in a namespace, which dies with this process.
func (y *Yard) Command(ctx context.Context, namespace string, argv ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", namespace}, argv...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// Cut cuts an agent off: what is sent disappears, and neither side is told.
func (y *Yard) Cut(i int) error { return batch(y.Lab(), "link set "+port(i)+" nomaster\n") }

// Mend undoes Cut.
func (y *Yard) Mend(i int) error { return batch(y.Lab(), "link set "+port(i)+" master "+bridge+"\n") }

// Read is the text of a file as a process in a namespace sees it.
func (y *Yard) Read(ctx context.Context, namespace, file string) (string, error) {
	out, err := y.Command(ctx, namespace, "cat", file).Output()
	return strings.TrimSpace(string(out)), err
}

// Processes are the processes in a namespace.
func Processes(namespace string) ([]int, error) {
	out, err := exec.Command("ip", "netns", "pids", namespace).Output()
	if err != nil {
		return nil, fmt.Errorf("processes in namespace %s: %w", namespace, err)
	}
	var pids []int
	for _, field := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("processes in namespace %s: %w", namespace, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// Close ends what runs in the namespaces and removes them.
func (y *Yard) Close() error { return remove(y.prefix) }

// sweep removes the yards of processes that are gone.
func sweep() error {
	all, err := namespaces(prefix)
	for _, name := range all {
		pid, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		if _, gone := os.Stat("/proc/" + pid); gone != nil {
			err = errors.Join(err, remove(name))
		}
	}
	return err
}

func namespaces(beginning string) (names []string, err error) {
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return nil, fmt.Errorf("list network namespaces: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, beginning) {
			names = append(names, name)
		}
	}
	return names, nil
}

// remove removes namespaces, with what runs in them.
func remove(beginning string) error {
	all, err := namespaces(beginning)
	for _, name := range all {
		pids, failed := Processes(name)
		err = errors.Join(err, failed)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
		err = errors.Join(err, exec.Command("ip", "netns", "del", name).Run())
	}
	return err
}
