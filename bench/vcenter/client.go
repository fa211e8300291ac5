package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"plimsoll/bench/measured"

	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/workload/operations/management"
)

const (
	turns      = 7
	drivers    = 8 // threads, each with a VM of its own
	operations = 3200
	processes  = 6
)

// Client is the CPU time of clients for an operation, power off or on: plimsoll's, pyVmomi, and a process of govc for
// each. The simulator is a process of its own.
func Client() (lines []measured.Result, err error) {
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	govc := filepath.Join(dir, "govc")
	build := exec.Command("go", "build", "-o", govc, ".")
	build.Dir = filepath.Join("internal", "vsphere", "sim", "testdata", "govc")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build govc: %w: %s", err, out)
	}
	if err := os.Setenv(secret, "secret"); err != nil {
		return nil, err
	}
	defer os.Unsetenv(secret)
	s, err := start(false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	clients := []struct {
		name string
		cost func() (float64, error)
	}{
		{"plimsoll", s.ours}, {"pyVmomi with WaitForTask", func() (float64, error) { return s.python("1") }},
		{"pyVmomi without waiting", func() (float64, error) { return s.python("0") }}, {"govc, a process each", func() (float64, error) { return s.govc(govc, dir) }},
	}
	costs := make([][]float64, len(clients))
	for range turns {
		for i, c := range clients {
			cost, err := c.cost()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			costs[i] = append(costs[i], cost)
		}
	}
	for i, part := range []float64{2, 2, 100} { // of a peer's CPU that plimsoll's client may use
		lines = append(lines, measured.Result{What: "client's CPU for an operation", Got: measured.Middle(costs[0]), Against: fmt.Sprintf("1/%g of %s", part, clients[i+1].name), Limit: measured.Middle(costs[i+1]) / part, Unit: "ms"})
	}
	return lines, nil
}

// ours is the cost with plimsoll's client, in this process.
func (b *branch) ours() (float64, error) {
	ctx := context.Background()
	_, print, _ := strings.Cut(b.first.Prints, " ")
	c, err := operation.Open(ctx, load.Endpoint{Address: b.first.Address, User: user, Secret: "env:" + secret, Thumbprint: print, Database: "DC0/C0"})
	if err != nil {
		return 0, err
	}
	before, err := measured.Work()
	if err != nil {
		return 0, errors.Join(err, c.Close())
	}
	errs := make([]error, drivers)
	var all sync.WaitGroup
	for i := range drivers {
		all.Go(func() {
			for range operations / drivers / 2 {
				for _, kind := range []management.Kind{management.PowerOff, management.PowerOn} {
					ticket, err := c.Issue(ctx, management.Order{Kind: kind, VM: b.first.VMs[i]})
					if err == nil {
						_, err = c.Await(ctx, ticket)
					}
					errs[i] = errors.Join(errs[i], err)
				}
			}
		})
	}
	all.Wait()
	after, err := measured.Work()
	return (after - before) * 1000 / operations, errors.Join(append(errs, err, c.Close())...)
}

// python is the cost with pyVmomi.
func (b *branch) python(wait string) (float64, error) {
	host, port, err := net.SplitHostPort(b.first.Address)
	if err != nil {
		return 0, err
	}
	print, _, _ := strings.Cut(b.first.Prints, " ")
	args := []string{filepath.Join("bench", "vcenter", "testdata", "power.py"), host, port, print, user, strconv.Itoa(operations / 4), wait}
	cmd := exec.Command(filepath.Join("bin", "pyvmomi", "bin", "python"), append(args, b.first.VMs[:drivers]...)...)
	cmd.Env = append(os.Environ(), "VCENTER_PASSWORD=secret")
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return 0, fmt.Errorf("pyVmomi, which ./setup test installs: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// govc is the cost of a process for each operation, which finds the VM by its path.
func (b *branch) govc(program, dir string) (cost float64, err error) {
	print, _, _ := strings.Cut(b.first.Prints, " ")
	hosts := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(hosts, []byte(b.first.Address+" "+print+"\n"), 0o600); err != nil {
		return 0, err
	}
	for i := range processes {
		cmd := exec.Command(program, "vm.power", []string{"-off", "-on"}[i%2], b.first.Path)
		cmd.Env = append(os.Environ(), "GOVC_URL=https://"+b.first.Address, "GOVC_USERNAME="+user, "GOVC_PASSWORD=secret", "GOVC_TLS_KNOWN_HOSTS="+hosts, "GOVMOMI_HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("govc: %w: %s", err, out)
		}
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		cost += used.Seconds() * 1000 / processes
	}
	return cost, nil
}
