package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/bench/measured"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/task"
)

const (
	threads = 32
	rounds  = 3
	lasting = 6 * time.Second
	user    = "operator"
	secret  = "PLIMSOLL_BENCH_PASSWORD"
)

// station is a simulator with a client.
type station struct {
	server  *sim.Server
	session *session.Session
	waiter  *task.Waiter
	ends    *ends
	vms     []mo.VirtualMachine
	hosts   []mo.HostSystem
	folders []*object.Folder
}

// Operating is the rate and the cost of a mix of operations with 32 threads on 64 hosts and 8,000 VMs, against
// govmomi's simulator. Client and server share this process.
func Operating() ([]measured.Result, error) { return compare(10) }

// Powering is the same of those that leave which VMs there are, and how large: power, relocation, snapshots.
func Powering() ([]measured.Result, error) { return compare(kept) }

// ways are how the end of a task is known. The last one carries out no operations: it is what calls cost at least.
var ways = []string{"ends of tasks seen in the server", "plimsoll's client", "govmomi's client", "calls that do nothing"}

func compare(weights int) (lines []measured.Result, err error) {
	var stations [2]*branch
	for i := range stations {
		s, err := start(i == 1)
		if err != nil {
			return nil, err
		}
		defer s.close()
		stations[i] = s
	}
	for _, way := range ways {
		rates, costs := [2][]float64{}, [2][]float64{}
		for range rounds {
			for i, s := range stations {
				got, err := s.rate(job{way, weights})
				if err != nil {
					return lines, fmt.Errorf("%s, simulator %d: %w", way, i, err)
				}
				rates[i], costs[i] = append(rates[i], got.Rate), append(costs[i], got.Cost)
			}
		}
		lines = append(lines,
			measured.Result{What: way + ": operations per second", Got: measured.Middle(rates[0]), Against: "govmomi's simulator", Limit: measured.Middle(rates[1]), Unit: "/s"},
			measured.Result{What: "the same: CPU of client and server for one", Got: measured.Middle(costs[0]), Against: "govmomi's simulator", Limit: measured.Middle(costs[1]), Unit: "ms"})
	}
	return lines, nil
}

func open(original bool) (*station, error) {
	ctx := context.Background()
	server, err := sim.Start(ctx, sim.Options{Clusters: fleet(64, 8000), Listen: "127.0.0.1:0", User: user, Password: "secret", Original: original})
	if err != nil {
		return nil, err
	}
	s := &station{server: server}
	address := live.Address{Scheme: "vsphere", User: user, Host: server.URL().Host, Parameters: map[string]string{"password": "env:" + secret, "thumbprint": server.Thumbprints().SHA256}}
	if s.session, err = session.Open(ctx, address); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	s.waiter, s.ends = task.NewWaiter(s.session), newEnds(server)
	if err := s.look(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *station) close() {
	if s.session != nil {
		_ = s.session.Close()
	}
	_ = s.server.Close()
}

// look reads the inventory, and makes a folder for the clones of each thread.
func (s *station) look(ctx context.Context) error {
	c := s.session.Client()
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine", "HostSystem", "Datacenter"}, true)
	if err != nil {
		return err
	}
	var centers []mo.Datacenter
	err = errors.Join(v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "runtime.powerState", "runtime.host", "datastore", "network"}, &s.vms),
		v.Retrieve(ctx, []string{"HostSystem"}, []string{"datastore", "network"}, &s.hosts), v.Retrieve(ctx, []string{"Datacenter"}, []string{"vmFolder"}, &centers))
	if err := errors.Join(err, v.Destroy(ctx)); err != nil {
		return err
	}
	s.vms = slices.DeleteFunc(s.vms, func(v mo.VirtualMachine) bool { return v.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn })
	slices.SortFunc(s.vms, func(a, b mo.VirtualMachine) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	parent := object.NewFolder(c, centers[0].VmFolder)
	for i := range threads {
		f, err := parent.CreateFolder(ctx, fmt.Sprintf("clones-%d", i))
		if err != nil {
			return err
		}
		s.folders = append(s.folders, f)
	}
	return nil
}

// waiting is how the end of a task is known.
type waiting func(ctx context.Context, ref types.ManagedObjectReference) error

func (s *station) byWaiter() waiting {
	return func(ctx context.Context, ref types.ManagedObjectReference) error {
		_, err := s.waiter.Wait(ctx, ref)
		return err
	}
}

func (s *station) byCollector() waiting {
	return func(ctx context.Context, ref types.ManagedObjectReference) error {
		return object.NewTask(s.session.Client(), ref).Wait(ctx)
	}
}

// wait is one of the ways; nil where there is nothing to wait for.
func (s *station) wait(way string) waiting {
	switch way {
	case ways[0]:
		return s.ends.wait
	case ways[1]:
		return s.byWaiter()
	case ways[2]:
		return s.byCollector()
	}
	return nil
}
