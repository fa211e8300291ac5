// Package file reads the strict file format of studies, with a position in every mistake.
package file

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/override"
	"plimsoll/internal/workload"
)

// format is the format of studies.
var format = document.Format{
	What: "study", Most: 1 << 20, Example: "study: NAME", Begin: "plimsoll new WORKLOAD writes a study to start from",
	Alias: "write the value out",
}

// Parse parses a study. The name of the file is used in mistakes; sets are overrides in the
// form path=value, applied in order:
//
// measure.window=5s any key
// workload.storage.depth=8 a setting of the workload or the platform
// storage.depth=8 the same, in short
// factors.storage.depth=[1,4] the levels of a factor
// platform=sim another platform, with its defaults
//
// Its error is a *document.Mistake, or several in the order of the file, joined. It reads only
// the text and its traces: package trial finds out what a machine lacks.
func Parse(file string, data []byte, c *study.Catalog, sets []string) (*study.Study, error) {
	r := &reader{in: document.New(file, format), catalog: c, places: map[string]*document.Node{}}
	root := r.in.Read(data)
	if root == nil {
		return nil, r.in.Err()
	}
	for _, set := range sets {
		override.Put(r.in, names(TopKeys), root, set)
	}
	s := r.study(root)
	if r.in.Count() == 0 {
		loadReader{r}.loads(s)
	}
	if err := r.in.Err(); err != nil {
		return nil, err
	}
	s.Sets = slices.Clone(sets)
	s.Locate(factorReader{r}.levelPlaces(s))
	return s, nil
}

// key is a key of a study file with what it means.
type Key struct{ Name, Doc string }

func names(keys []Key) []string { return namesOf(keys, func(k Key) string { return k.Name }) }

// TopKeys are the keys of a study, in the order in which people write them.
var TopKeys = []Key{
	{"study", "name of the study; it names the results folder"},
	{"question", "the question, in one sentence"},
	{"platform", "where it runs: a name, or {NAME: {settings}}"},
	{"workload", "the load: a name, or {NAME: {settings}}"},
	{"machines", "how many machines run the workload at once; default 1"},
	{"groups", "several kinds of machines at once, by name: {machines, settings, workload, service, limits, reference}"},
	{"tiles", "how many tiles run at once, each with one machine of every group; default 1"},
	{"operations", "management operations beside tiles: {restart: {group: NAME, every: 10s, reference: 300}}, references per hour"},
	{"service", "the server under load: a name, or {NAME: {settings}}; default one that plimsoll includes"},
	{"monitor", "a system that samples counters of hosts and VMs, such as a vCenter: {NAME: {settings}}"},
	{"factors", "factors with their levels; the first level is the baseline"},
	{"commands", "factors made of your own commands, used as command.NAME"},
	{"load", "closed, or {rate: 5000/s} for operations offered at a rate, or {peak: {within: {p99: 20ms}}} for the highest rate within limits"},
	{"measure", "duration of trials and number of blocks"},
	{"headline", "the metrics that decide, most important first; default the workload's first"},
	{"margin", "smallest effect of interest; default 2%"},
	{"goal", "goal of tune: {most: METRIC} or {least: METRIC, floor: {METRIC: value}}"},
	{"tune", "what tune may change: {candidates: {FACTOR: [levels]}, allow: unsafe, changes: 5, time: 1h}"},
	{"limits", "limits that run --gate enforces: {METRIC: {max: value}} or {min: value}"},
	{"published", "published figures, shown beside the results as context"},
	{"seed", "seed of all random choices; default drawn and printed"},
}

// defaultMargin is the default smallest effect of interest.
const defaultMargin = 0.02

func (r *reader) study(root *document.Node) *study.Study {
	top := r.table(root, "a study", names(TopKeys))
	s := &study.Study{Margin: defaultMargin}
	for _, name := range []string{"study", "question", "platform", "workload"} {
		if _, ok := top[name]; !ok && !(name == "workload" && has(top, "groups")) {
			r.in.Complain(root, "the key %q is missing", name)
		}
	}
	if e, ok := top["study"]; ok {
		s.Name = r.name(e.value)
	}
	if e, ok := top["question"]; ok {
		text, _ := r.scalar(e.value, "question")
		s.Question = strings.Join(strings.Fields(text), " ")
	}
	r.platform(s, top)
	groupReader{r}.groups(s, top)
	r.paused(s)
	kind := r.workload(s, top)
	r.service(s, top, kind)
	r.monitor(s, top)
	if e, ok := top["commands"]; ok {
		s.Commands = r.commands(e.value)
	}
	if e, ok := top["factors"]; ok {
		before := r.in.Count()
		s.Factors = factorReader{r}.factors(e.value, s, kind)
		r.misled = r.in.Count() > before
	}
	if e, ok := top["load"]; ok {
		loadReader{r}.load(e.value, s, kind)
	}
	r.oneMachine(s, kind, top, root)
	s.Measure = measureReader{r}.measure(top["measure"].value)
	measureReader{r}.metered(s)
	r.covered(s)
	groupReader{r}.checkElastic(s)
	if e, ok := top["margin"]; ok {
		s.Margin = r.share(e.value, "margin")
	}
	if e, ok := top["seed"]; ok {
		s.Seed = r.seed(e.value)
	}
	aimReader{r}.aims(s, top, kind)
	return s
}

func has(top map[string]entry, name string) bool {
	_, ok := top[name]
	return ok
}

// name parses the name of a study, which becomes part of a folder's name.
func (r *reader) name(n *document.Node) string {
	text, ok := r.scalar(n, "study")
	if ok && !plainName(text) {
		r.in.Complain(n, "study: invalid name %q: use letters, digits, '-', '_' and '.', a letter or digit first, 64 at most", text)
	}
	return text
}

func plainName(text string) bool {
	for i, c := range text {
		plain := c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c))
		if !plain && (i == 0 || !strings.ContainsRune("-_.", c)) {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

func (r *reader) seed(n *document.Node) *uint64 {
	text, ok := r.scalar(n, "seed")
	if !ok {
		return nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		r.in.Complain(n, "seed: %q is not a whole number from 0 to 2^64-1", text)
		return nil
	}
	return &seed
}

func (r *reader) platform(s *study.Study, top map[string]entry) {
	e, ok := top["platform"]
	if !ok {
		return
	}
	if kind, settings := r.use(e.value, "platform"); kind != nil {
		s.Platform = r.used(kind, "platform", settings)
	}
}

// workload returns the kind that the study names, or nil.
func (r *reader) workload(s *study.Study, top map[string]entry) *workload.Kind {
	e, ok := top["workload"]
	if !ok {
		return nil
	}
	kind, settings := r.use(e.value, "workload")
	if kind == nil {
		return nil
	}
	r.places["workload."+kind.Name] = e.value
	s.Workload = r.used(kind, "workload", settings)
	return r.catalog.Workload(kind.Name)
}

// service parses the service. The default is the first service of the catalog that speaks a
// protocol of the workload.
func (r *reader) service(s *study.Study, top map[string]entry, kind *workload.Kind) {
	e, given := top["service"]
	if kind == nil {
		return
	}
	if s.Tiled() { // each group has its own
		return
	}
	fit := r.catalog.Fitting(kind)
	if !given {
		if len(fit) > 0 && !kind.Alone {
			s.Service = &study.Use{Kind: fit[0]}
		}
		return
	}
	found, settings := r.use(e.value, "service")
	if found == nil {
		return
	}
	s.Hosted = r.catalog.Hosted(s.Platform.Kind, found.Name)
	switch inGroup := slices.ContainsFunc(s.Groups, func(g study.Group) bool { return g.Serves }); {
	case s.Hosted && inGroup:
		r.in.Complain(e.key, "service: platform %s runs %s on its host, not on a machine of a group: move it beside groups", s.Platform.Kind, found.Name)
	case s.Hosted && kind.Speaks != nil && !kind.Alone:
		r.in.Complain(e.value, "service: the workload %s needs a service (%s), and a study has one: %s holds the disks of the machines", kind.Name, strings.Join(fit, ", "), found.Name)
	case !s.Hosted && kind.Speaks == nil:
		r.in.Complain(e.key, "service: the workload %s uses no service", kind.Name)
	case !s.Hosted && !slices.Contains(fit, found.Name):
		r.in.Complain(e.value, "service: %s supports no protocol of the workload %s (%s); these do: %s",
			found.Name, kind.Name, strings.Join(kind.Speaks, ", "), strings.Join(fit, ", "))
	default:
		r.places["service."+found.Name] = e.value
		s.Service = new(r.used(found, "service", settings))
	}
}

// monitor parses the monitor.
func (r *reader) monitor(s *study.Study, top map[string]entry) {
	e, given := top["monitor"]
	if !given {
		return
	}
	found, settings := r.use(e.value, "monitor")
	if found == nil {
		return
	}
	before := r.in.Count()
	s.Monitor = new(r.used(found, "monitor", settings))
	if r.in.Count() > before {
		return
	}
	kind := r.catalog.Monitor(found.Name)
	monitored, err := kind.New(s.Monitor.Settings)
	switch {
	case err != nil:
		r.in.Complain(e.value, "monitor %s: %v", found.Name, err)
	case r.catalog.Virtual(s.Platform.Kind):
		r.in.Complain(e.value, "monitor: platform %s is simulated in virtual time, which a monitor cannot sample", s.Platform.Kind)
	case !monitored.Own && !r.serves(s, kind.Speaks):
		r.in.Complain(e.value, "monitor %s: the service of this study is none: give its address", found.Name)
	}
}

// serves reports whether the service of the study speaks a protocol.
func (r *reader) serves(s *study.Study, protocol string) bool {
	if s.Service == nil {
		return false
	}
	kind := r.catalog.Service(s.Service.Kind)
	return kind != nil && slices.Contains(kind.Speaks, protocol)
}

// use parses NAME or {NAME: {settings}} of a class. The kind is nil after a mistake.
func (r *reader) use(n *document.Node, class string) (kind *study.Kind, settings *document.Node) {
	place, known := n, r.catalog.Kinds(class)
	if n.Kind == document.Mapping {
		entries := r.entries(n, class)
		if len(entries) == 0 {
			r.in.Complain(n, "%s is empty; known: %s", class, strings.Join(r.catalog.Names(class), ", "))
			return nil, nil
		}
		for _, e := range entries[1:] {
			r.in.Complain(e.key, "%s: a study has one, and %q is given already", class, entries[0].key.Text)
		}
		place, settings = entries[0].key, entries[0].value
	}
	name, ok := r.scalar(place, class)
	if !ok {
		return nil, nil
	}
	if kind = find(known, func(k study.Kind) bool { return k.Name == name }); kind != nil {
		return kind, settings
	}
	if drive := r.catalog.Driving(name); class == "workload" && len(drive) > 0 {
		r.in.Complain(place, "%q is a service, not a workload; %s can drive it: workload: %s, service: %s", name, strings.Join(drive, ", "), drive[0], name)
	} else {
		r.in.Unknown(place, "unknown "+class, name, r.catalog.Names(class))
	}
	return nil, nil
}

// used is a kind with the settings that stand below a path.
func (r *reader) used(kind *study.Kind, path string, settings *document.Node) study.Use {
	return study.Use{Kind: kind.Name, Settings: r.settings(settings, path+"."+kind.Name, kind.Defaults)}
}

// settings reads the settings of a kind in their canonical text.
func (r *reader) settings(n *document.Node, path string, defaults any) parameter.Settings {
	if n == nil || n.Empty() {
		return nil
	}
	fields := parameter.Fields(defaults)
	out := parameter.Settings{}
	table := r.table(n, path, parameter.Names(fields))
	for _, f := range fields {
		e, given := table[f.Name]
		if !given {
			continue
		}
		r.places[path+"."+f.Name] = e.value
		if text, ok := r.value(e.value, f); ok {
			out[f.Name] = text
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// value reads what a field can take, in canonical text.
func (r *reader) value(n *document.Node, f parameter.Field) (string, bool) {
	if f.Kind == parameter.KindList {
		items, ok := r.list(n, f.Name)
		if !ok {
			return "", false
		}
		text := make([]string, 0, len(items))
		for _, item := range items {
			t, ok := r.scalar(item, f.Name)
			if !ok {
				return "", false
			}
			text = append(text, t)
		}
		return r.check(n, f, parameter.List(text))
	}
	text, ok := r.scalar(n, f.Name)
	if !ok {
		return "", false
	}
	return r.check(n, f, text)
}

func (r *reader) check(n *document.Node, f parameter.Field, text string) (string, bool) {
	canonical, err := f.Check(text)
	if err != nil {
		r.in.Complain(n, "%v", err)
		return "", false
	}
	if f.Name == study.TraceSetting || f.Name == "load."+study.TraceSetting {
		return r.trace(n, canonical)
	}
	return canonical, true
}
