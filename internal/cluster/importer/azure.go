package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster/table"
)

// azure is the packing trace of 2020 (Hadary et al., "Protean: VM Allocation Service at
// Scale", OSDI 2020): requests for VMs of a type, each with a lifetime in days. A type takes a
// share of a host of each hardware generation. The trace is published as a SQLite database,
// whose two tables are exported as CSV files first.
type azure struct {
	requests string          // file of table vm
	types    string          // file of table vmType
	size     map[string]size // by type

	generation string
	elsewhere  int // types that the generation does not offer
	above      int // types that need more than a whole host
	missing    int // rows with an unknown start time
	unknown    int // rows of an undefined type
	backwards  int // rows that end before they start
}

type size struct {
	vcpus  int
	memory int64
}

const (
	day         = 86_400
	mostDays    = 36_500
	unknownDays = -7157 // a start time that was not recorded (AzurePublicDataset, issue 14)
)

// The tables, as the first line of their CSV files.
var (
	requestColumns = []string{"vmId", "vmTypeId", "starttime", "endtime"}
	typeColumns    = []string{"vmTypeId", "machineId", "core", "memory"}
)

func openAzure(_ context.Context, files []string, o Options) (source, error) {
	a := &azure{size: map[string]size{}}
	if err := a.assign(files); err != nil {
		return nil, err
	}
	parts, generations, err := a.parts()
	if err != nil {
		return nil, err
	}
	return a, a.choose(o, parts, generations)
}

// assign identifies the two files by their first lines.
func (a *azure) assign(files []string) error {
	for _, file := range files {
		columns, err := firstLine(file)
		if err != nil {
			return err
		}
		switch columns {
		case strings.Join(requestColumns, ","):
			a.requests = file
		case strings.Join(typeColumns, ","):
			a.types = file
		default:
			return fmt.Errorf("%s:1: columns %q; expected %s or %s", file, columns, strings.Join(requestColumns, ","), strings.Join(typeColumns, ","))
		}
	}
	if len(files) != 2 || a.requests == "" || a.types == "" {
		return errors.New("azure-packing requires two CSV files, of the tables vm and vmType")
	}
	return nil
}

// firstLine reads the names of the columns. For a SQLite database it returns an error with the
// commands that export it.
func firstLine(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the trace: %w", err)
	}
	defer f.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("read the trace: %w", err)
	}
	head = head[:n]
	if bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return "", fmt.Errorf("%s is a SQLite database. Export its two tables, then import vm.csv and vmtype.csv:\n%s\n%s",
			file, export(file, requestColumns, "vm", "vm.csv"), export(file, typeColumns, "vmType", "vmtype.csv"))
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return strings.TrimSpace(strings.TrimPrefix(string(line), "\ufeff")), nil
}

func export(file string, columns []string, from, to string) string {
	return fmt.Sprintf("  sqlite3 -csv -header '%s' 'SELECT %s FROM %s' > %s", strings.ReplaceAll(file, "'", `'\''`), strings.Join(columns, ", "), from, to)
}

// rows passes each row of a CSV file after the first to take.
func rows(ctx context.Context, file string, columns []string, take func(*table.Reader, []string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	defer f.Close()
	t := table.NewReader(file, f, ",", columns...)
	if err := t.Header(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		fields, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil && t.Open() {
			err = t.Errorf("the last line has no newline: the file is truncated")
		}
		if err == nil {
			err = take(t, fields)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// part is the share of a host of one generation that a type takes.
type part struct{ generation, cores, memory float64 }

// parts reads the size of each type, by its id, and the number of types of each generation.
func (a *azure) parts() (parts map[string][]part, generations map[float64]int, err error) {
	parts, generations = map[string][]part{}, map[float64]int{}
	err = rows(context.Background(), a.types, typeColumns, func(t *table.Reader, fields []string) error {
		var p part
		var err error
		for i, into := range []*float64{&p.generation, &p.cores, &p.memory} {
			most := 1e6
			if i == 0 {
				most = 1 << 53
			}
			if *into, err = t.Number(i+1, most); err != nil {
				return err
			}
		}
		if p.cores > 1 || p.memory > 1 {
			a.above++
			p.cores, p.memory = min(p.cores, 1), min(p.memory, 1)
		}
		id := strings.Clone(fields[0])
		parts[id] = append(parts[id], p)
		generations[p.generation]++
		return nil
	})
	if err == nil && len(parts) == 0 {
		err = fmt.Errorf("%s: the table is empty", a.types)
	}
	return parts, generations, err
}

// choose takes the sizes of one generation; for types that it does not offer, those of the
// first generation that does.
func (a *azure) choose(o Options, parts map[string][]part, generations map[float64]int) error {
	order := slices.SortedFunc(maps.Keys(generations), func(x, y float64) int {
		return cmp.Or(cmp.Compare(generations[y], generations[x]), cmp.Compare(x, y))
	})
	chosen := order[0]
	if o.Generation != "" {
		want, err := strconv.ParseFloat(o.Generation, 64)
		if i := slices.Index(order, want); err != nil || i < 0 {
			slices.Sort(order)
			return fmt.Errorf("%s: unknown generation %q: must be one of %v", a.types, o.Generation, order[:min(len(order), 50)])
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

func (a *azure) sketch(ctx context.Context, take func(*vm) error) error {
	return a.each(ctx, take)
}

func (a *azure) each(ctx context.Context, take func(*vm) error) error {
	a.missing, a.unknown, a.backwards = 0, 0, 0
	var m vm
	return rows(ctx, a.requests, requestColumns, func(t *table.Reader, fields []string) error {
		fine, err := a.row(t, fields, &m)
		if err != nil || !fine {
			return err
		}
		return take(&m)
	})
}

// row reads one request. It is not fine if it is to be skipped.
func (a *azure) row(t *table.Reader, fields []string, m *vm) (fine bool, err error) {
	start, err := inDays(t, fields, 2)
	if err != nil {
		return false, err
	}
	*m = vm{name: "vm-" + fields[0], from: int64(math.Round(start * day)), to: forever}
	if fields[3] != "" {
		end, err := inDays(t, fields, 3)
		if err != nil {
			return false, err
		}
		m.to = int64(math.Round(end * day))
	}
	if start == unknownDays {
		a.missing++
	}
	size, known := a.size[fields[1]]
	switch {
	case fields[0] == "":
		return false, t.Errorf("%s is empty", requestColumns[0])
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

// inDays reads a time, which may be before the trace.
func inDays(t *table.Reader, fields []string, column int) (float64, error) {
	x, err := strconv.ParseFloat(fields[column], 64)
	if err != nil || !(math.Abs(x) <= mostDays) {
		return 0, t.Errorf("%s of VM %s is %q; must be days, from -%d to %d", requestColumns[column], fields[0], fields[column], mostDays, mostDays)
	}
	return x, nil
}

func (a *azure) warnings() (list []string) {
	list = append(list, "sizes are those of hardware generation "+a.generation)
	for _, w := range []struct {
		n    int
		what string
	}{
		{a.elsewhere, "VM types not offered on that generation, with the size of another"},
		{a.above, "sizes above a host, taken as a whole host"},
		{a.missing, "rows with the start time -7157 days, which means unknown, kept as VMs that started before the trace"},
		{a.unknown, "skipped rows with an undefined VM type"},
		{a.backwards, "skipped rows that end before they start"},
	} {
		if w.n > 0 {
			list = append(list, fmt.Sprintf("%s: %d", w.what, w.n))
		}
	}
	return list
}
