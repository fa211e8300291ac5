package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/cluster/table"
	"plimsoll/internal/cluster/trace"
)

// bitbrains is a trace of the usage of VMs, one file per VM (GWA-T-12 of the Grid Workloads
// Archive; Shen et al., "Statistical Characterization of Business-Critical Workloads Hosted in
// Cloud Datacenters", CCGrid 2015).
type bitbrains struct {
	files  []traceFile
	sizes  []vm  // with the first and the last sample
	begins int64 // seconds since 1970
	ends   int64
	back   int // rows that go back in time, in the last pass
	open   int // files whose last line has no newline
	empty  int // files without a row, or of a VM without size
}

type traceFile struct{ path, name string }

// Columns of a row. The header says that time is in milliseconds; the published files
// have seconds.
const (
	bitTime = iota
	bitCores
	bitCapacity // MHz
	bitCPU      // MHz
	bitPart     // per cent
	bitMemory   // KB, of 1024 bytes
	bitActive   // KB
	bitRead     // KB/s
	bitWrite
	bitReceived
	bitSent
)

var bitColumns = []string{
	"Timestamp [ms]", "CPU cores", "CPU capacity provisioned [MHZ]", "CPU usage [MHZ]", "CPU usage [%]", "Memory capacity provisioned [KB]", "Memory usage [KB]",
	"Disk read throughput [KB/s]", "Disk write throughput [KB/s]", "Network received throughput [KB/s]", "Network transmitted throughput [KB/s]",
}

const (
	milliseconds = 100_000_000_000 // from here on a time is in milliseconds: in seconds it would be the year 5138
	interval     = 300             // seconds between samples
	bytesPerKB   = 1024
	bitPerKB     = 8 * bytesPerKB
)

func openBitbrains(ctx context.Context, args []string, _ Options) (source, error) {
	b := &bitbrains{begins: forever}
	for _, arg := range args {
		if err := b.find(arg, len(args) > 1); err != nil {
			return nil, err
		}
	}
	if len(b.files) == 0 {
		return nil, fmt.Errorf("bitbrains: no file in %s ends in .csv", strings.Join(args, ", "))
	}
	seen := map[string]string{}
	for _, f := range b.files {
		if other, taken := seen[f.name]; taken {
			return nil, fmt.Errorf("bitbrains: %s and %s would both be VM %s: specify the folder that contains both", other, f.path, f.name)
		}
		seen[f.name] = f.path
	}
	return b, b.survey(ctx)
}

// find lists the files of an argument, in an order that does not depend on the computer.
func (b *bitbrains) find(arg string, several bool) error {
	var found []traceFile
	err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read the trace: %w", err)
		}
		if d.IsDir() || path != arg && !strings.EqualFold(filepath.Ext(path), ".csv") {
			return nil
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // each file is read several times
			return cmp.Or(err, fmt.Errorf("read the trace: %s is not a regular file", path))
		}
		name, err := filepath.Rel(arg, path)
		if err != nil || name == "." {
			name = filepath.Base(path)
		} else if several {
			name = filepath.Join(filepath.Base(arg), name)
		}
		found = append(found, traceFile{path, "vm-" + strings.TrimSuffix(filepath.ToSlash(name), filepath.Ext(name))})
		return nil
	})
	slices.SortFunc(found, func(x, y traceFile) int {
		return cmp.Or(cmp.Compare(len(x.name), len(y.name)), cmp.Compare(x.name, y.name))
	})
	b.files = append(b.files, found...)
	return err
}

// survey reads all files, and keeps the size, the first and the last sample of each.
func (b *bitbrains) survey(ctx context.Context) error {
	err := b.read(ctx, func(m *vm) error {
		brief := *m
		brief.points = nil
		if n := len(m.points); n > 0 {
			brief.points = []point{m.points[0], m.points[n-1]}
			b.begins, b.ends = min(b.begins, m.points[0].second), max(b.ends, m.points[n-1].second)
		}
		b.sizes = append(b.sizes, brief)
		return nil
	})
	for i := range b.sizes {
		b.settle(&b.sizes[i])
	}
	return err
}

func (b *bitbrains) sketch(_ context.Context, take func(*vm) error) error {
	for i := range b.sizes {
		if m := &b.sizes[i]; m.sound() {
			if err := take(m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bitbrains) each(ctx context.Context, take func(*vm) error) error {
	return b.read(ctx, func(m *vm) error {
		if !m.sound() {
			b.empty++
			return nil
		}
		b.settle(m)
		return take(m)
	})
}

// sound reports whether a file describes a VM.
func (m *vm) sound() bool { return len(m.points) > 0 && m.vcpus > 0 && m.memory > 0 }

// settle counts time from the beginning of the trace. A VM whose samples end before those of
// others departs.
func (b *bitbrains) settle(m *vm) {
	if len(m.points) == 0 {
		return
	}
	for i := range m.points {
		m.points[i].second -= b.begins
		m.points[i].active = min(m.points[i].active, m.memory)
	}
	last := m.points[len(m.points)-1].second
	m.from, m.to = m.points[0].second, forever
	if last+2*interval <= b.ends-b.begins {
		m.to = last + interval
	}
}

// read returns each file as a VM, with times since 1970.
func (b *bitbrains) read(ctx context.Context, take func(*vm) error) error {
	b.back, b.open, b.empty = 0, 0, 0
	var points []point
	for _, f := range b.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, err := os.Open(f.path)
		if err != nil {
			return fmt.Errorf("read the trace: %w", err)
		}
		m := &vm{name: f.name, points: points[:0]}
		err = b.file(f.path, in, m)
		points = m.points
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
		if err := take(m); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// file reads one VM. Its size is the largest in the file.
func (b *bitbrains) file(path string, in io.Reader, m *vm) error {
	t := table.NewReader(path, in, ";", bitColumns...)
	if err := t.Header(); err != nil {
		return err
	}
	for last := int64(-1); ; {
		_, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := bitRow(t, m)
		if err != nil {
			return err
		}
		if t.Open() {
			b.open++
		}
		if p.second <= last {
			b.back++
			continue
		}
		last = p.second
		m.points = append(m.points, p)
	}
}

func bitRow(t *table.Reader, m *vm) (p point, err error) {
	at, err := t.Whole(bitTime, 1<<50)
	if err != nil {
		return p, err
	}
	if at >= milliseconds {
		at /= 1000
	}
	if at > trace.MostSeconds {
		return p, t.Errorf("%s: %d s since 1970 is outside the valid range of a trace", bitColumns[bitTime], at)
	}
	var x [bitSent + 1]float64
	for column := bitCores; column <= bitSent; column++ {
		if x[column], err = t.Number(column, mostOf(column)); err != nil {
			return p, err
		}
	}
	m.vcpus = max(m.vcpus, int(math.Ceil(x[bitCores])))
	m.memory = max(m.memory, int64(x[bitMemory]*bytesPerKB))
	if x[bitCores] > 0 {
		m.mhz = max(m.mhz, int64(math.Ceil(x[bitCapacity]/x[bitCores])))
	}
	if m.mhz > mostMHz {
		return p, t.Errorf("%s: a core of %d MHz", bitColumns[bitCapacity], m.mhz)
	}
	return point{at, int64(math.Round(x[bitCPU])), int64(x[bitActive] * bytesPerKB), int64((x[bitReceived] + x[bitSent]) * bitPerKB)}, nil
}

func mostOf(column int) float64 {
	switch column {
	case bitCores:
		return mostVCPUs
	case bitCapacity, bitCPU:
		return mostVCPUs * mostMHz
	case bitMemory, bitActive:
		return mostMemory / bytesPerKB
	case bitPart:
		return 1e9
	}
	return 1e12
}

func (b *bitbrains) warnings() (list []string) {
	for _, w := range []struct {
		n    int
		what string
	}{
		{b.back, "skipped rows that go back in time or repeat a time"},
		{b.empty, "skipped files without samples, cores or memory"},
		{b.open, "files that end without a newline and may be truncated"},
	} {
		if w.n > 0 {
			list = append(list, fmt.Sprintf("%s: %d", w.what, w.n))
		}
	}
	return list
}
