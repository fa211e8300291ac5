// Package vsphere measures the client of a vCenter against a simulator in the same process.
package vsphere

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/bench/measured"
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/sim"
)

const (
	hosts   = 256
	vms     = 25_000
	times   = 3
	changes = 101
)

var errDone = errors.New("done")

// Inventory is the time to read a large cluster into the model, and that from a change of one VM
// to the step that shows it. The simulator that is read is a process of its own.
func Inventory() ([]measured.Result, error) {
	folder, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	read, work, err := reading(folder)
	if err != nil {
		return nil, err
	}
	change, err := changing(folder)
	what := fmt.Sprintf("%d hosts, %d VMs: ", hosts, vms)
	return []measured.Result{
		{What: what + "read into the model", Got: read, Against: "goal", Limit: 10, Unit: "s"},
		{What: what + "CPU of the client for that", Got: work, Against: "goal of the time", Limit: 10, Unit: "s"},
		{What: what + "a changed VM is a step", Got: change, Against: "goal", Limit: .05, Unit: "s"},
	}, err
}

// reading is the median time to read a cluster, and the CPU time of the client.
func reading(folder string) (read, work float64, err error) {
	binary, dir, err := measured.Binary()
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	at, err := secret(folder)
	if err != nil {
		return 0, 0, err
	}
	child := exec.Command(binary, "vcenter", "--json", "--listen", "127.0.0.1:0", "--hosts", fmt.Sprint(hosts), "--vms", fmt.Sprint(vms), "--user", at.User, "--password", at.Parameters["password"])
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := child.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		err = errors.Join(err, child.Process.Signal(os.Interrupt))
		_ = child.Wait() // it ends by the signal
	}()
	var serves struct {
		URL    string `json:"url"`
		SHA256 string `json:"thumbprint_sha256"`
	}
	if err := json.NewDecoder(out).Decode(&serves); err != nil {
		return 0, 0, fmt.Errorf("what the simulator prints: %w", err)
	}
	u, err := url.Parse(serves.URL)
	if err != nil {
		return 0, 0, err
	}
	at.Host, at.Parameters["thumbprint"] = u.Host, serves.SHA256
	before, err := measured.Work()
	if err != nil {
		return 0, 0, err
	}
	read, err = measured.Median(times, func() error { return first(at) })
	after, _ := measured.Work()
	return read, (after - before) / times, err
}

// secret is an address without a host, with a password in a file.
func secret(folder string) (live.Address, error) {
	password := filepath.Join(folder, "password")
	return live.Address{Scheme: "vsphere", User: "bench", Parameters: map[string]string{"password": "file:" + password}}, os.WriteFile(password, []byte("secret"), 0o600)
}

// changing is the median time from a change to its step.
func changing(folder string) (float64, error) {
	shape := generate.Typical(hosts, 1)
	shape.VMs = vms
	c, _ := generate.Cluster(shape)
	server, err := sim.Start(context.Background(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "bench", Password: "secret", Folder: folder})
	if err != nil {
		return 0, err
	}
	defer server.Close()
	u, err := url.Parse(server.URL().String())
	if err != nil {
		return 0, err
	}
	at, err := secret(folder)
	if err != nil {
		return 0, err
	}
	at.Host, at.Parameters["thumbprint"] = u.Host, server.Thumbprints().SHA256
	return follow(server, at)
}

// first connects and reads the cluster once.
func first(at live.Address) error {
	c, err := vsphere.Kind().Open(context.Background(), at)
	if err != nil {
		return err
	}
	err = c.Source.Watch(context.Background(), func(s live.Step) error {
		if len(s.Cluster.VMs) != vms {
			return fmt.Errorf("read %d VMs", len(s.Cluster.VMs))
		}
		return errDone
	})
	if !errors.Is(err, errDone) {
		return errors.Join(err, c.Close())
	}
	return c.Close()
}

// follow is the median time from a change of one VM to its step.
func follow(server *sim.Server, at live.Address) (float64, error) {
	c, err := vsphere.Kind().Open(context.Background(), at)
	if err != nil {
		return 0, err
	}
	all := server.Model.Map().All("VirtualMachine")
	var delays []float64
	var begun time.Time
	var name string
	next := func() {
		vm := all[len(delays)*97%len(all)].(*simulator.VirtualMachine)
		fresh := *server.Model.Service.Context
		begun, name = time.Now(), vm.Name
		fresh.WithLock(vm, func() {
			allocation := *vm.Config.CpuAllocation
			allocation.Reservation = types.NewInt64(reserved)
			fresh.Update(vm, []types.PropertyChange{{Name: "config.cpuAllocation", Val: &allocation}})
		})
	}
	err = c.Source.Watch(context.Background(), func(s live.Step) error {
		if name != "" && !seen(s.Cluster, name) {
			return nil
		}
		if name != "" {
			delays = append(delays, time.Since(begun).Seconds())
		}
		if len(delays) == changes {
			return errDone
		}
		next()
		return nil
	})
	if !errors.Is(err, errDone) {
		return 0, errors.Join(err, c.Close())
	}
	return measured.Middle(delays), c.Close()
}

// reserved is the reservation by which a changed VM is known, in MHz.
const reserved = 12345

func seen(c *cluster.Cluster, name string) bool {
	for i := range c.VMs {
		if c.VMs[i].Name == name {
			return c.VMs[i].CPU.Reservation == reserved
		}
	}
	return false
}
