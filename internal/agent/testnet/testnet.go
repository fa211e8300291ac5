// Package testnet is a network testbed for tests and benchmarks of fleets: a network
// namespace for the lab and one for each agent, on a bridge, with processes in them. The
// host's own network is left alone, and Close removes everything.
package testnet

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

// Network is the namespaces of a lab and of its agents.
type Network struct {
	agents int
	prefix string
}

const (
	prefix = "plimsoll-testnet-"
	bridge = "testnet"
	// Address is the lab's address.
	Address = "10.78.0.1"
	mask    = "/16"
)

// Open creates a network. It first removes those of dead processes. It requires root.
func Open(agents int) (*Network, error) {
	if err := sweep(); err != nil {
		return nil, err
	}
	n := &Network{agents: agents, prefix: prefix + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:6] + "-"}
	if err := n.build(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Lab is the name of the lab's namespace.
func (n *Network) Lab() string { return n.prefix + "lab" }

// Agent is the name of an agent's namespace. Agents count from 0.
func (n *Network) Agent(i int) string { return n.prefix + strconv.Itoa(i) }

// AgentAddress is the address of an agent.
func (n *Network) AgentAddress(i int) string { return fmt.Sprintf("10.78.%d.%d", 1+i/200, 1+i%200) }

func port(i int) string { return "a" + strconv.Itoa(i) }

func (n *Network) build() error {
	lab := n.Lab()
	names := []string{lab}
	inLab := []string{"link set lo up", "link add " + bridge + " type bridge", "addr add " + Address + mask + " dev " + bridge, "link set " + bridge + " up"}
	for i := range n.agents {
		names = append(names, n.Agent(i))
		inLab = append(inLab, "link add "+port(i)+" type veth peer name eth0 netns "+n.Agent(i), "link set "+port(i)+" master "+bridge+" up")
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
	for i := range n.agents {
		if err := batch(n.Agent(i), "link set lo up\naddr add "+n.AgentAddress(i)+mask+" dev eth0\nlink set eth0 up\n"); err != nil {
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
		return fmt.Errorf("create network namespaces: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Command is a command in a namespace, which dies with this process.
func (n *Network) Command(ctx context.Context, namespace string, argv ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", namespace}, argv...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// Cut disconnects an agent: packets are dropped, and neither side gets an error.
func (n *Network) Cut(i int) error { return batch(n.Lab(), "link set "+port(i)+" nomaster\n") }

// Mend undoes Cut.
func (n *Network) Mend(i int) error {
	return batch(n.Lab(), "link set "+port(i)+" master "+bridge+"\n")
}

// Read is the text of a file as a process in a namespace reads it.
func (n *Network) Read(ctx context.Context, namespace, file string) (string, error) {
	out, err := n.Command(ctx, namespace, "cat", file).Output()
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

// Close kills the processes in the namespaces and removes them.
func (n *Network) Close() error { return remove(n.prefix) }

// sweep removes the networks of processes that are gone.
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

// remove removes namespaces and kills their processes.
func remove(beginning string) error {
	all, err := namespaces(beginning)
	for _, name := range all {
		pids, failed := Processes(name)
		err = errors.Join(err, failed)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have exited on its own
		}
		err = errors.Join(err, exec.Command("ip", "netns", "del", name).Run())
	}
	return err
}
