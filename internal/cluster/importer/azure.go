package importer

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// azure is the packing trace of 2020 (Hadary et al., "Protean: VM Allocation Service at
// Scale", OSDI 2020): requests for machines of a type, which takes a part of a machine of
// each generation of hardware, and their lives in days.
type azure struct {
	db   *sql.DB
	file string
	size map[string]size // by type

	generation string
	elsewhere  int // types that the generation lacks
	above      int // types that need more than a whole machine
	missing    int // rows whose start time is not known
	unknown    int // rows of a type that is not there
	backwards  int // rows that end before they start
}

type size struct {
	vcpus  int
	memory int64
}

const (
	day         = 86_400
	mostDays    = 36_500
	unknownDays = -7157 // stands for a start time that was not recorded (AzurePublicDataset, issue 14)
)

func openAzure(ctx context.Context, files []string, o Options) (source, error) {
	if len(files) != 1 {
		return nil, fmt.Errorf("azure-packing: %d files; want one", len(files))
	}
	db, err := openSQLite(files[0])
	if err != nil {
		return nil, err
	}
	a := &azure{db: db, file: files[0], size: map[string]size{}}
	if err := a.prepare(ctx, o); err != nil {
		_ = db.Close()
		return nil, err
	}
	return a, nil
}

func (a *azure) prepare(ctx context.Context, o Options) error {
	if err := checkTable(ctx, a.db, a.file, "vm", "vmId", "vmTypeId", "starttime", "endtime"); err != nil {
		return err
	}
	if err := checkTable(ctx, a.db, a.file, "vmType", "vmTypeId", "machineId", "core", "memory"); err != nil {
		return err
	}
	parts, generations, err := a.parts(ctx)
	if err != nil {
		return err
	}
	return a.choose(o, parts, generations)
}

// part is how much of a machine of one generation a type takes.
type part struct{ generation, cores, memory float64 }

// parts reads what each type takes, by its id, and how many types there are for each
// generation.
func (a *azure) parts(ctx context.Context) (parts map[string][]part, generations map[float64]int, err error) {
	parts, generations = map[string][]part{}, map[float64]int{}
	err = records(ctx, a.db, "SELECT vmTypeId, machineId, core, memory FROM vmType", 4, func(_ int64, v []any) error {
		id, err := key(v[0])
		if err != nil {
			return fmt.Errorf("vmTypeId %w", err)
		}
		var p part
		for i, into := range []*float64{&p.generation, &p.cores, &p.memory} {
			most := 1e6
			if i == 0 {
				most = 1 << 53
			}
			if *into, err = amount(v[i+1], 0, most); err != nil {
				return fmt.Errorf("%s of type %s %w", [...]string{"machineId", "core", "memory"}[i], id, err)
			}
		}
		if p.cores > 1 || p.memory > 1 {
			a.above++
			p.cores, p.memory = min(p.cores, 1), min(p.memory, 1)
		}
		parts[id] = append(parts[id], p)
		generations[p.generation]++
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: table vmType: %w", a.file, err)
	}
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("%s: table vmType is empty", a.file)
	}
	return parts, generations, nil
}

// choose takes the sizes of one generation; of types that it lacks, those of the first
// that has them.
func (a *azure) choose(o Options, parts map[string][]part, generations map[float64]int) error {
	order := slices.SortedFunc(maps.Keys(generations), func(x, y float64) int {
		return cmp.Or(cmp.Compare(generations[y], generations[x]), cmp.Compare(x, y))
	})
	chosen := order[0]
	if o.Generation != "" {
		want, err := strconv.ParseFloat(o.Generation, 64)
		if i := slices.Index(order, want); err != nil || i < 0 {
			slices.Sort(order)
			return fmt.Errorf("%s: there is no generation %q; there are %v", a.file, o.Generation, order[:min(len(order), 50)])
		}
		chosen = want
	}
	a.generation = strconv.FormatFloat(chosen, 'f', -1, 64)
	for id, list := range parts {
		p := slices.MinFunc(list, func(x, y part) int { return cmp.Compare(x.generation, y.generation) })
		i := slices.IndexFunc(list, func(p part) bool { return p.generation == chosen })
		if i >= 0 {
			p = list[i]
		} else {
			a.elsewhere++
		}
		mib := int64(math.Round(p.memory * float64(o.HostMemory>>20)))
		a.size[id] = size{max(1, int(math.Round(p.cores*float64(o.HostCores)))), max(1, mib) << 20}
	}
	return nil
}

func (a *azure) sketch(ctx context.Context, take func(*machine) error) error {
	return a.each(ctx, take)
}

func (a *azure) each(ctx context.Context, take func(*machine) error) error {
	a.missing, a.unknown, a.backwards = 0, 0, 0
	var m machine
	err := records(ctx, a.db, "SELECT vmId, vmTypeId, starttime, endtime FROM vm", 4, func(_ int64, v []any) error {
		fine, err := a.row(v, &m)
		if err != nil || !fine {
			return err
		}
		return take(&m)
	})
	if err != nil {
		return fmt.Errorf("%s: table vm: %w", a.file, err)
	}
	return nil
}

// row reads one request. It is not fine when it is left out.
func (a *azure) row(v []any, m *machine) (fine bool, err error) {
	id, err := key(v[0])
	if err != nil {
		return false, fmt.Errorf("vmId %w", err)
	}
	kind, err := key(v[1])
	if err != nil {
		return false, fmt.Errorf("vmTypeId of machine %s %w", id, err)
	}
	start, err := amount(v[2], -mostDays, mostDays)
	if err != nil {
		return false, fmt.Errorf("starttime of machine %s %w", id, err)
	}
	*m = machine{name: "vm-" + id, from: int64(math.Round(start * day)), to: forever}
	if v[3] != nil {
		end, err := amount(v[3], -mostDays, mostDays)
		if err != nil {
			return false, fmt.Errorf("endtime of machine %s %w", id, err)
		}
		m.to = int64(math.Round(end * day))
	}
	if start == unknownDays {
		a.missing++
	}
	size, known := a.size[kind]
	switch {
	case !known:
		a.unknown++
		return false, nil
	case m.to < m.from:
		a.backwards++
		return false, nil
	}
	m.vcpus, m.memory = size.vcpus, size.memory
	return true, nil
}

func (a *azure) warnings() (list []string) {
	list = append(list, "sizes are those of hardware generation "+a.generation)
	for _, w := range []struct {
		n    int
		what string
	}{
		{a.elsewhere, "machine types are not offered on that generation and have the size of another"},
		{a.above, "sizes are above a whole machine: taken as one"},
		{a.missing, "rows have the start time -7157 days, which stands for one that is not known: kept, as machines that were there before the trace"},
		{a.unknown, "rows are of a machine type that the trace does not describe: left out"},
		{a.backwards, "rows end before they start: left out"},
	} {
		if w.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", w.n, w.what))
		}
	}
	return list
}

func (a *azure) close() error { return a.db.Close() }
