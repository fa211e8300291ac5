package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/monitor"
	"plimsoll/internal/workload"
)

// Needs is the requirements of a study: those of its loads, all arms together.
type Needs struct {
	Disk     int64               // bytes in the scratch folder, if the loads of all arms lie there at once
	Time     time.Duration       // rough length of preparing them
	Anew     bool                // each trial does so
	Changes  []string            // each change outside the scratch folder
	Sets     map[string][]string // for each factor of a machine, the settings of the kernel that hold it, where it is one
	Versions map[string]string   // programs that will be used
	Space    int64               // bytes that are left for the scratch folder; 0 is unknown
	Host     HostNeeds           // where the machines have disks in a service on their host
}

// Check says, changing nothing, what the study needs on the machine and whether
// it is there: every level of every factor is asked of the machine and every
// load looks at what it needs. Its error names what the user can do.
func (b *Bench) Check(ctx context.Context) (*Needs, error) {
	s, err := b.session(&journal.Journal{})
	if err != nil {
		return nil, err
	}
	return s.check(ctx)
}

func (s *session) check(ctx context.Context) (*Needs, error) {
	total := &Needs{Versions: map[string]string{}, Sets: map[string][]string{}, Anew: s.services.Anew()}
	of := monitor.Monitor{Study: s.bench.Study, Catalog: s.bench.Catalog}
	if err := of.Check(ctx); err != nil {
		return nil, err
	}
	if err := s.services.Hosting.Announce(ctx); err != nil {
		return nil, err
	}
	data, host := newStored(), &hostCheck{session: s, disks: newStored()}
	for _, arm := range s.bench.Plan.Arms { // before machines are made that are asked
		if err := s.bench.possible(arm.Levels); err != nil {
			return nil, fmt.Errorf("arm %s: %w", arm.Label, err)
		}
	}
	for _, arm := range s.bench.Plan.Arms {
		all, err := s.sample(ctx, arm.Levels)
		if err != nil {
			return nil, err
		}
		if err := s.settings.Find(ctx, all); err != nil {
			return nil, err
		}
		for name, sets := range s.settings.Kernel() {
			total.Sets[name] = slices.Compact(slices.Sorted(slices.Values(append(total.Sets[name], sets...))))
		}
		serving, err := s.checkService(ctx, arm, all)
		if err != nil {
			return nil, err
		}
		total.serve(serving)
		if err := all.Build(); err != nil {
			return nil, fmt.Errorf("arm %s: %w", arm.Label, err)
		}
		files, served, err := s.checkLoads(ctx, arm, all, total, max(1, serving.Servers))
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", arm.Label, err)
		}
		if s.services.Renews() { // arms come one after the other
			data, host.disks = newStored(), newStored()
		}
		store := s.store(arm, serving)
		if s.services.Hosting != nil {
			if err := host.add(ctx, arm, all, serving); err != nil {
				return nil, err
			}
			serving.Disk = 0 // on the disk of the host, where the loads have nothing
		}
		data.add(store, serving, files, served)
		if err := s.fits(serving, data, fmt.Sprintf("reduce the data of workload %s, or enlarge the service", s.kind.Name)); err != nil {
			return nil, err
		}
		total.Disk = max(total.Disk, int64(s.bench.Study.MostTiles())*(data.files+data.sum()))
	}
	total.Host = host.most
	return total, cmp.Or(s.checkSpace(ctx, total), checkEnergy(ctx, s, total))
}

// store is where the service of an arm has data.
func (s *session) store(arm plan.Arm, serving service.Needs) string {
	return cmp.Or(serving.Store, journal.LoadKey(s.bench.Study.ServiceSettings(arm.Levels)))
}

// stored is what lies on the disk at once.
type stored struct {
	files  int64            // of the service without its data, and of the loads: the most of any arm
	served map[string]int64 // data in the service with its copies, by where that has it
}

// add adds an arm with its files and its data in the service. Arms with the same store share their data.
func (d *stored) add(store string, of service.Needs, files, served int64) {
	if of.Copies > 0 {
		served = int64(of.Copies * float64(served))
	}
	d.files, d.served[store] = max(d.files, of.Disk+files), max(d.served[store], served)
}

func (d *stored) sum() (sum int64) {
	for _, n := range d.served {
		sum += n
	}
	return sum
}

func newStored() *stored { return &stored{served: map[string]int64{}} }

// fits refuses data that the service cannot hold.
func (s *session) fits(of service.Needs, data *stored, remedy string) error {
	need := data.sum()
	if of.Capacity == 0 || need <= of.Capacity {
		return nil
	}
	arms := ""
	if n := len(data.served); n > 1 {
		arms = fmt.Sprintf(" of %d arms", n)
	}
	name := s.bench.Study.Service.Kind
	return fmt.Errorf("the data%s takes %s in service %s, its redundancy included, but that holds %s: %s",
		arms, parameter.Bytes(need).About(), name, parameter.Bytes(of.Capacity).About(), remedy)
}

// possible reports settings of the platform that exclude each other in an arm: each factor alone is asked of the machine as it is.
func (b *Bench) possible(levels map[string]string) error {
	use := b.Study.Platform
	at := slices.IndexFunc(b.Catalog.Platforms, func(k platform.Kind) bool { return k.Name == use.Kind })
	if at < 0 || b.Catalog.Platforms[at].Possible == nil {
		return nil
	}
	kind, settings := b.Catalog.Platforms[at], maps.Clone(use.Settings)
	for name, level := range levels {
		if setting, own := strings.CutPrefix(name, kind.Name+"."); own {
			if _, known := parameter.Find(kind.Defaults, setting); known {
				if settings == nil {
					settings = parameter.Settings{}
				}
				settings[setting] = level
			}
		}
	}
	return kind.Possible(settings)
}

// sample are machines of which each kind of an arm is asked: all of them where they are there
// anyway, and one of each kind where they would be made for the question.
func (s *session) sample(ctx context.Context, levels map[string]string) (machines.Set, error) {
	if len(s.bench.Study.Groups) == 0 {
		return s.machines.Alone(s.kind, s.bench.Study.Settings(levels)), nil
	}
	groups := s.bench.Study.Most()
	for i, g := range s.bench.Study.ArmGroups(levels) {
		groups[i].Workload = g.Workload
		if s.machines.Fleeting() || s.bench.Study.Tiled() {
			groups[i].Machines = 1
		}
	}
	return s.machines.Gather(ctx, groups, s.driven(levels))
}

// checkLoads adds the needs of the loads of an arm, and returns those of the disk: of
// files, and in the service. What is in the service is in each of its servers, which are filled at once.
func (s *session) checkLoads(ctx context.Context, arm plan.Arm, all machines.Set, total *Needs, servers int) (most, served int64, err error) {
	if s.sim != nil { // in virtual time no load runs
		return 0, 0, nil
	}
	at := ""
	if s.services.Provided() != nil { // that of another arm may be another
		at = arm.Label
	}
	answers, err := s.bench.Known.Loads(ctx, all.Driving(), at, func(m *machines.Member) workload.Env {
		env := m.At.Env(machines.DataSeed(s.bench.Plan.Seed, m.Index))
		env.Speaks, env.Target = s.services.Spoken(), s.services.Provided()
		if s.bench.Study.Tiled() {
			env.Speaks = s.tiles.Spoken(m)
		}
		return env
	})
	if err != nil {
		return 0, 0, err
	}
	_, apart := s.bench.Platform.(platform.ScratchProvider)
	disk := int64(0)
	for _, m := range all.Driving() {
		needs := answers[m]
		if needs.Served > 0 {
			needs.Served *= int64(servers)
			needs.Time *= time.Duration(servers)
			needs = s.services.Lent(needs)
		}
		served += needs.Served
		// Machines that share a disk add up.
		if disk += needs.Disk; apart {
			disk = needs.Disk
		}
		most, total.Time = max(most, disk), max(total.Time, needs.Time)
		for _, change := range needs.Changes {
			if m.Name != "" {
				change += " on " + m.Name
			}
			if !slices.Contains(total.Changes, change) {
				total.Changes = append(total.Changes, change)
			}
		}
		maps.Copy(total.Versions, needs.Versions)
	}
	return most, served, nil
}

// spare is the share of free space on a file system that a study may fill.
const spare = 0.95

func (s *session) checkSpace(ctx context.Context, n *Needs) error {
	if budget := s.bench.Study.Measure.Disk; budget > 0 && n.Disk > budget {
		return fmt.Errorf("the study needs %.3g GiB on disk and its budget is %.3g GiB: raise measure.disk, or reduce its files", gib(n.Disk), gib(budget))
	}
	left, ok := s.machines.First().Space(ctx)
	if !ok {
		return nil
	}
	n.Space = left.Free
	if float64(n.Disk) > spare*float64(left.Free) {
		return fmt.Errorf("the study needs %.3g GiB in %s, but only %.3g GiB are free: specify another scratch folder, or reduce its files", gib(n.Disk), s.machines.Scratch, gib(left.Free))
	}
	return nil
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// writable finds out whether the results folder can be written, before a study
// starts that could not be written down.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("write to results folder: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// serve adds the needs of the service of an arm.
func (n *Needs) serve(needs service.Needs) {
	n.Time += needs.Time
	for _, change := range needs.Changes {
		if !slices.Contains(n.Changes, change) {
			n.Changes = append(n.Changes, change)
		}
	}
	maps.Copy(n.Versions, needs.Versions)
}
