package hcistudy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"plimsoll/internal/parameter"
)

// Study is a study as text.
type Study struct{ Name, Text string }

// Studies are the studies of parameter files: one each, or one of all VM groups of the configuration, which may be nil. lines say what became of the
// configuration beside them.
func Studies(c *Configuration, files []*Parameters) (all []Study, lines []string, err error) {
	if c != nil && c.EasyRun {
		lines = append(lines, c.Name+" is of an easy run: "+c.easyCommand())
	}
	if c != nil && len(c.Groups) > 0 {
		s, err := groups(c, files)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		return []Study{s}, lines, nil
	}
	used := map[string]bool{}
	for i, p := range files {
		name := slug(p.Name)
		if used[name] {
			name = cut(name, mostName-4) + fmt.Sprintf("-%d", i+1)
		}
		used[name] = true
		all = append(all, one(c, p, name))
	}
	return all, lines, nil
}

// one is the study of a parameter file.
func one(c *Configuration, p *Parameters, name string) Study {
	w := &writer{}
	w.head(c, p.Name, p.Without)
	w.line("study: %s", name)
	w.line("question: What does this platform carry under %s?", name)
	w.platform(c, p.Disks)
	if w.machines = 1; c != nil && c.VMs > 1 {
		w.machines = c.VMs
		w.line("machines: %d", c.VMs)
	}
	w.line("workload:")
	w.line("  storage: %s", settings(c, p, w.machines))
	w.measure(c, p)
	return Study{name, w.String()}
}

// groups is the study of VM groups that run at the same time. The first is the subject.
func groups(c *Configuration, files []*Parameters) (Study, error) {
	w := &writer{}
	var of []*Parameters
	var without []string
	var names []string
	disks := 0
	for _, g := range c.Groups {
		i := slices.IndexFunc(files, func(p *Parameters) bool { return p.Name == g.File })
		if i < 0 {
			return Study{}, fmt.Errorf("the VM group with %s needs that parameter file: name it, too", g.File)
		}
		of = append(of, files[i])
		disks = max(disks, files[i].Disks)
		names = append(names, g.File)
		without = append(without, files[i].Without...)
	}
	slices.Sort(without)
	w.head(c, strings.Join(names, ", "), slices.Compact(without))
	name := slug(strings.TrimSuffix(c.Name, ".yaml")) + "-groups"
	w.line("study: %s", name)
	w.line("question: What do VM groups carry at the same time?")
	w.platform(c, disks)
	w.line("groups:")
	for i, p := range of {
		w.line("  group%d: {machines: %d, workload: {storage: %s}}", i, max(1, c.Groups[i].VMs), settings(c, p, max(1, c.Groups[i].VMs)))
	}
	w.measure(c, of[0])
	return Study{name, w.String()}, nil
}

type writer struct {
	strings.Builder
	machines int
}

// comment writes a line that is nothing but a comment, whatever the names and values in it hold.
func (w *writer) comment(format string, values ...any) {
	w.line("# %s", printable(fmt.Sprintf(format, values...)))
}

// printable has a space for each character that could end a line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// scalar is a value in YAML, quoted unless it is plain.
func scalar(value string) string {
	if value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_%") == "" {
		return value
	}
	return "'" + strings.ReplaceAll(printable(value), "'", "''") + "'"
}

func (w *writer) line(format string, values ...any) { fmt.Fprintf(&w.Builder, format+"\n", values...) }

// head says where a study is from, and what it lacks.
func (w *writer) head(c *Configuration, file string, without []string) {
	from := file
	if c != nil {
		from += " and " + c.Name
	}
	w.comment("From HCIBench: %s", from)
	if len(without) > 0 {
		w.comment("Without an equivalent in the parameter file: %s", strings.Join(without, ", "))
	}
	if c != nil && len(c.Without) > 0 {
		w.comment("Without an equivalent in the configuration: %s", strings.Join(c.Without, ", "))
	}
}

// platform is guests of this host with the hardware of the VMs, or this host without a configuration.
func (w *writer) platform(c *Configuration, disks int) {
	if c == nil {
		w.line("platform: local")
		return
	}
	const spare = 2 // GiB of a guest's disk beside the data
	w.comment("Guests of this host; VMs of yours are platform fleet.")
	w.line("platform:\n  guest: {vcpus: %d, memory: %dGiB, disk: %dGiB}", cmp.Or(c.CPUs, 4), cmp.Or(c.Memory, 8), disks*cmp.Or(c.DiskGiB, 10)+spare)
}

// settings are those of the workload on so many machines, as a mapping. Its rate is that of all machines.
func settings(c *Configuration, p *Parameters, machines int) string {
	parts := []string{fmt.Sprintf("disks: %d", p.Disks)}
	if c != nil && c.DiskGiB > 0 {
		parts = append(parts, fmt.Sprintf("size: %dGiB", c.DiskGiB))
	}
	for _, s := range p.Settings {
		parts = append(parts, s[0]+": "+scalar(s[1]))
	}
	if p.Rate > 0 && p.Target == 0 {
		parts = append(parts, "rate: "+parameter.Rate(p.Rate*float64(machines)).String())
	}
	if c != nil && c.Preparation != "" {
		parts = append(parts, "precondition: "+scalar(strings.ToLower(c.Preparation)))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// measure has the times, one block, and the latency target as a search.
func (w *writer) measure(c *Configuration, p *Parameters) {
	window := p.Window
	if c != nil && c.Seconds > 0 {
		window = time.Duration(c.Seconds) * time.Second
	}
	if p.Target > 0 {
		w.line("load: {peak: {within: {p95: %s, errors: 0/s}}}", parameter.Duration(p.Target))
		w.line("measure: {longest: 30s, blocks: 1}")
		w.line("headline: [peak]")
		return
	}
	var times []string
	if p.Warmup > 0 {
		times = append(times, "warmup: "+parameter.Duration(p.Warmup).String())
	}
	if window > 0 {
		times = append(times, "window: "+parameter.Duration(window).String(), "longest: "+parameter.Duration(p.Warmup+window+window/2).String())
	}
	w.line("measure: {%s}", strings.Join(append(times, "blocks: 1"), ", "))
	w.line("headline: [iops, p95]")
}

// slug is a name of letters, digits and hyphens.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return cmp.Or(cut(strings.Join(words, "-"), mostName), "unnamed")
}

// mostName is the length of the name of a study.
const mostName = 64

func cut(name string, most int) string { return strings.TrimRight(name[:min(len(name), most)], "-") }
