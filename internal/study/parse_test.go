package study

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/document"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

func ptr[T any](v T) *T { return &v }

func defaultMeasure() Measure {
	return Measure{
		Settle: time.Second, Warmup: AutoWarmup, Window: 10 * time.Second, Longest: time.Minute,
		Interval: 200 * time.Millisecond, Looks: []int{9, 13, 18, 24}, Retries: 3,
	}
}

func TestParseTheSmallestStudy(t *testing.T) {
	want := &Study{
		Name: "s", Question: "q?", Platform: Use{Kind: "local"}, Workload: Use{Kind: "storage"},
		Measure: defaultMeasure(), Headline: []string{"iops"}, Margin: 0.02,
	}
	if d := cmp.Diff(want, parse(t, head), unplaced); d != "" {
		t.Error(d)
	}
}

const full = `
study: queue-depth
question: >
  Does a second outstanding I/O per disk
  raise random-write IOPS?
platform: {sim: {capacity: 300/min, effects: ["sim.knob=on: +5%"]}}
workload:
  storage: {disks: 2, size: 1024KiB, block: 4096, spec: 4096_100_0, direct: true, targets: /srv/a, rate: 10/s}
factors:
  storage.threads: [01, 2]
  host.scheduler:sda: [none, mq-deadline]
  host.quota: [1.50]
  host.governor: [performance, powersave]
  command.turbo: [0, "1"]
  label: [a, b]
commands:
  turbo: {read: cat /tmp/turbo, apply: 'echo {level} > /tmp/turbo'}
load: closed
measure: {warmup: 2s, window: 5s, longest: 20s, blocks: 9, settle: 0s, retries: 0, time: 1h, disk: 2GiB, interval: 250ms}
headline: [iops, write.p99]
margin: 1.5%
goal: {least: p99, floor: {iops: 1000/s, throughput: 10MB/s}}
limits: {p99: {max: 20ms}, errors: {max: 0/s}}
published:
  - {metric: iops, values: {1: 100, 2: 127.5}, change: +27.5%, note: a note}
  - {metric: CPIO, unit: cycles, note: another}
seed: 18446744073709551615
`

func TestParseEveryKey(t *testing.T) {
	want := &Study{
		Name: "queue-depth", Question: "Does a second outstanding I/O per disk raise random-write IOPS?",
		Platform: Use{"sim", parameter.Settings{"capacity": "5/s", "effects": `["sim.knob=on: +5%"]`}},
		Workload: Use{"storage", parameter.Settings{
			"disks": "2", "size": "1MiB", "block": "4096", "spec": "4096_100_0", "direct": "true", "targets": `["/srv/a"]`, "rate": "10/s",
		}},
		Factors: []Factor{
			{Name: "storage.threads", Levels: []string{"1", "2"}, Parameter: "threads"},
			{Name: "host.scheduler", Target: "sda", Levels: []string{"none", "mq-deadline"}},
			{Name: "host.quota", Levels: []string{"1.5"}},
			{Name: "host.governor", Levels: []string{"performance", "powersave"}, Restart: true},
			{Name: "command.turbo", Levels: []string{"0", "1"}},
			{Name: "label", Levels: []string{"a", "b"}},
		},
		Commands: []Command{{Name: "turbo", Read: "cat /tmp/turbo", Apply: "echo {level} > /tmp/turbo"}},
		Measure: Measure{
			Warmup: 2 * time.Second, Window: 5 * time.Second, Longest: 20 * time.Second, Interval: 250 * time.Millisecond,
			Blocks: 9, Looks: []int{9, 13, 18, 24}, Time: time.Hour, Disk: 2 << 30,
		},
		Headline: []string{"iops", "write.p99"}, Margin: 0.015,
		Goal: &Goal{Metric: "p99", Direction: measure.LowerIsBetter, Floor: []Limit{
			{Metric: "iops", Unit: "1/s", Min: ptr(1000.0)}, {Metric: "throughput", Unit: "B/s", Min: ptr(1e7)},
		}},
		Limits: []Limit{{Metric: "p99", Unit: "s", Max: ptr(0.02)}, {Metric: "errors", Unit: "1/s", Max: ptr(0.0)}},
		Published: []Figure{
			{Metric: "iops", Unit: "1/s", Values: map[string]float64{"1": 100, "2": 127.5}, Change: ptr(0.275), Note: "a note"},
			{Metric: "CPIO", Unit: "cycles", Note: "another"},
		},
		Seed: ptr(uint64(18446744073709551615)),
	}
	got := parse(t, full)
	if d := cmp.Diff(want, got, unplaced); d != "" {
		t.Error(d)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again := new(Study)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, again, unplaced); d != "" {
		t.Errorf("the stored study differs: %s", d)
	}
}

func TestLoadRate(t *testing.T) {
	s := parse(t, head+"load: {rate: 300/min}")
	if s.Load.Rate != 5 || s.Workload.Settings["rate"] != "5/s" {
		t.Errorf("load %+v, settings %v", s.Load, s.Workload.Settings)
	}
	// A closed load beside a rate of the workload is the workload's business.
	s = parse(t, "study: s\nquestion: q?\nplatform: local\nworkload: {storage: {rate: 7/s}}\nload: closed")
	if s.Load.Rate != 0 || s.Workload.Settings["rate"] != "7/s" {
		t.Errorf("load %+v, settings %v", s.Load, s.Workload.Settings)
	}
}

func TestDerivedDefaults(t *testing.T) {
	for _, c := range []struct {
		measure           string
		longest, interval time.Duration
	}{
		{"{window: 1s}", 6 * time.Second, 100 * time.Millisecond},
		{"{window: 7s}", 42 * time.Second, 140 * time.Millisecond},
		{"{window: 10m}", time.Hour, time.Second},
		{"{window: 10s, warmup: 30s}", 90 * time.Second, 200 * time.Millisecond},
	} {
		m := parse(t, head+"measure: "+c.measure).Measure
		if m.Longest != c.longest || m.Interval != c.interval {
			t.Errorf("%s: longest %s, interval %s; want %s, %s", c.measure, m.Longest, m.Interval, c.longest, c.interval)
		}
	}
}

func TestNullIsAName(t *testing.T) {
	for _, text := range []string{"workload: null", "workload: {null: {}}", "workload:\n  null:"} {
		s := parse(t, "study: s\nquestion: q\nplatform: local\n"+text)
		if s.Workload.Kind != "null" || s.Headline[0] != "operations" {
			t.Errorf("%s: got %+v", text, s)
		}
	}
}

// The rate of a study is that of its load, or of a setting of the workload.
func TestPacing(t *testing.T) {
	of := func(settings parameter.Settings) Study {
		return Study{Workload: Use{Kind: "web", Settings: settings}}
	}
	offered, thinks, loaded, varies := of(parameter.Settings{"rate": "40/s"}), of(parameter.Settings{"think": "50ms"}), of(nil), of(nil)
	loaded.Load.Rate = 7
	varies.Factors = []Factor{{Name: "web.think", Parameter: "think", Levels: []string{"0s", "5ms"}}}
	for _, c := range []struct {
		of     Study
		rate   float64
		think  time.Duration
		varied bool
	}{{of(nil), 0, 0, false}, {offered, 40, 0, false}, {thinks, 0, 50 * time.Millisecond, false}, {loaded, 7, 0, false}, {varies, 0, 0, true}} {
		if rate, think, varied := c.of.Pacing(); rate != c.rate || think != c.think || varied != c.varied {
			t.Errorf("%+v: rate %g, think time %v, varied %v", c.of, rate, think, varied)
		}
	}
}

func TestSettingsOfAnArm(t *testing.T) {
	s := parse(t, full)
	got := s.Settings(map[string]string{"storage.threads": "2", "host.quota": "1.5", "nowhere": "9"})
	want := parameter.Settings{"threads": "2"}
	for k, v := range s.Workload.Settings {
		want[k] = v
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s.Workload.Settings["threads"] != "" {
		t.Error("the study was changed")
	}
}

func TestMetrics(t *testing.T) {
	m := parse(t, head).Metrics(testCatalog())
	if m[0].Name != "iops" || m[len(m)-1].Name != "cpu.busy" {
		t.Errorf("got %v", m)
	}
}

// mistakes splits an error into its lines and makes sure that each is a *Mistake.
func mistakes(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var lines []string
	for _, e := range all {
		m, ok := e.(*document.Mistake)
		if !ok {
			t.Fatalf("%T is no *document.Mistake: %v", e, e)
		}
		if m.Text == "" || strings.ContainsAny(m.Error(), "\n\r") || m.Line == 0 && !strings.HasPrefix(m.File, "--set ") {
			t.Errorf("not a complaint of one line with a place: %q", m.Error())
		}
		lines = append(lines, m.Error())
	}
	return lines
}

func TestMistakes(t *testing.T) {
	w := "study: s\nquestion: q?\nplatform: local\n" // line 4 is next
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "t.yaml:1:1: the file is empty; plimsoll new WORKLOAD writes a study to start from"},
		{"comments", "# nothing\n", "t.yaml:1:1: the file is empty; plimsoll new WORKLOAD writes a study to start from"},
		{"no mapping", "- a\n", `t.yaml:1:1: a study is a mapping of keys, such as "study: NAME", not a list`},
		{"two documents", head + "---\nstudy: t\n", "t.yaml:5:1: a second document starts here; a file holds one study"},
		{"no UTF-8", "study: s\nquestion: \xff\n", "t.yaml:2:11: this is not UTF-8 text"},
		{"tab", "study: s\nmeasure:\n\twindow: 1s\n", "t.yaml:3:1: a tab cannot indent: use spaces"},
		{"no YAML", "study: [a\n", "t.yaml:1:8: this bracket or quote is not closed: is the file truncated?"},
		{"anchor", w + "workload: &a storage\n", "t.yaml:4:11: the anchor &a: a study has no anchors; write the value out"},
		{"alias", head + "headline: [&m iops]\nmargin: *m\n",
			"t.yaml:5:12: the anchor &m: a study has no anchors; write the value out\nt.yaml:6:9: the alias *m: a study has no aliases; write the value out"},
		{"tag", head + "margin: !!str 2%\n", "t.yaml:5:9: the tag !!str: a study has no tags"},
		{"keys missing", "study: s\n",
			`t.yaml:1:1: the key "question" is missing` + "\n" + `t.yaml:1:1: the key "platform" is missing` + "\n" + `t.yaml:1:1: the key "workload" is missing`},
		{"unknown key", head + "headlines: [iops]\n", `t.yaml:5:1: unknown key "headlines"; did you mean "headline"?`},
		{"key twice", head + "margin: 1%\nmargin: 2%\n", `t.yaml:6:1: duplicate key "margin", first given in line 5`},
		{"key that is a list", head + "? [a]\n: b\n", "t.yaml:5:3: a key must be one word, not a list"},
		{"empty value", "study: s\nquestion:\nplatform: local\nworkload: storage\n", "t.yaml:2:10: question is empty"},
		{"name", "study: a/b\nquestion: q\nplatform: local\nworkload: storage\n",
			`t.yaml:1:8: study: invalid name "a/b": use letters, digits, '-', '_' and '.', a letter or digit first, 64 at most`},
		{"platform", "study: s\nquestion: q\nplatform: locl\nworkload: storage\n", `t.yaml:3:11: unknown platform "locl"; did you mean "local"?`},
		{"two platforms", "study: s\nquestion: q\nplatform: {local: {}, sim: {}}\nworkload: storage\n",
			`t.yaml:3:23: platform: a study has one, and "local" is given already`},
		{"workload", w + "workload: network\n", `t.yaml:4:11: unknown workload "network"; known: storage, null, web`},
		{"service for a workload", w + "workload: {nginx: {}}\n", `t.yaml:4:12: "nginx" is a service, not a workload; web can drive it: workload: web, service: nginx`},
		{"setting", w + "workload: {storage: {thread: 1}}\n", `t.yaml:4:22: unknown key "thread"; did you mean "threads"?`},
		{"unit", w + "workload: {storage: {size: 512}}\n", `t.yaml:4:28: size: "512" is not a size with its unit, like 4KiB`},
		{"bound", w + "workload: {storage: {threads: 0}}\n", `t.yaml:4:31: threads: "0" is not at least 1`},
		{"choice", w + "workload: {storage: {engine: aio}}\n", `t.yaml:4:30: engine: "aio" is not one of psync, libaio, io_uring`},
		{"list for one value", w + "workload: {storage: {threads: [1, 2]}}\n", `t.yaml:4:31: threads must be a single value, not a list`},
		{"combination", w + "workload: {storage: {depth: 2}}\n", `t.yaml:4:11: workload.storage: engine psync has depth 1, not 2; take libaio`},
		{"factor", head + "factors: {storage.treads: [1]}\n", `t.yaml:5:11: unknown factor "storage.treads"; did you mean "storage.threads"?`},
		{"machine factor", head + "factors: {host.schedule: [none]}\n", `t.yaml:5:11: unknown factor "host.schedule"; did you mean "host.scheduler"?`},
		{"other workload", head + "factors: {null.x: [none]}\n", `t.yaml:5:11: factor "null.x": the workload of this study is storage, not null`},
		{"target not taken", head + "factors: {host.quota:sda: [1]}\n", `t.yaml:5:11: factor host.quota takes no target, but "sda" is given`},
		{"target missing", head + "factors: {'host.scheduler:': [none]}\n", `t.yaml:5:11: factor "host.scheduler:": the target after the colon is missing`},
		{"no level", head + "factors: {label: []}\n", `t.yaml:5:18: label has no level; give at least one`},
		{"levels not a list", head + "factors: {label: a}\n", `t.yaml:5:18: label: levels are a list, such as [a, b], not "a"`},
		{"level twice", head + "factors: {storage.size: [1024KiB, 1MiB]}\n", `t.yaml:5:35: storage.size: the level 1MiB is given twice`},
		{"impossible level", head + "factors: {storage.threads: [1, 1000]}\n", `t.yaml:5:32: threads: "1000" is not at most 256`},
		{"impossible level of a machine", head + "factors: {host.quota: [1, much]}\n", `t.yaml:5:27: host.quota: a quota is a number of CPUs, such as 1.5`},
		{"level that fits no other setting", head + "factors: {storage.depth: [1, 4]}\n",
			`t.yaml:5:30: storage.depth: level "4": engine psync has depth 1, not 4; take libaio`},
		{"levels that do not go together", head + "factors: {storage.engine: [libaio, psync], storage.depth: [1, 4]}\n",
			`t.yaml:5:63: this level conflicts with levels of other factors: engine psync has depth 1, not 4; take libaio`},
		{"varied and set", w + "workload: {storage: {threads: 2}}\nfactors: {storage.threads: [1, 2]}\n",
			`t.yaml:5:11: storage.threads is varied from the baseline 1, and 2 in the workload: keep one of them`},
		{"command unknown", head + "factors: {command.turb: [a]}\ncommands: {turbo: {read: a, apply: b}}\n", `t.yaml:5:11: commands has no "turb"; did you mean "turbo"?`},
		{"command half", head + "commands: {turbo: {reed: a, apply: b}}\n",
			`t.yaml:5:12: commands.turbo: the key "read" is missing` + "\n" + `t.yaml:5:20: unknown key "reed"; did you mean "read"?`},
		{"load", head + "load: open\n", `t.yaml:5:7: unknown load "open"; known: closed, {rate: 5000/s}`},
		{"load key", head + "load: {rte: 1/s}\n", `t.yaml:5:8: unknown key "rte"; did you mean "rate"?`},
		{"arrivals", head + "load: {rate: 1/s, arrivals: poisson}\n", `t.yaml:5:19: load: the workload storage has no arrivals to set; use closed`},
		{"arrivals choice", web + "load: {arrivals: even}\n", `t.yaml:5:18: load.arrivals: "even" is not one of constant, poisson`},
		{"peak of nothing", head + "load: {peak: {from: 1/s}}\n", `t.yaml:5:8: load: a peak requires limits, such as {peak: {within: {p99: 20ms, errors: 0}}}`},
		{"peak without latency", head + "load: {peak: {within: {errors: 0/s}}}\n", `t.yaml:5:15: load: one limit of a peak must be on a response time, such as p99: 20ms`},
		{"peak metric", head + "load: {peak: {within: {p98: 1s}}}\n", `t.yaml:5:15: load: one limit of a peak must be on a response time, such as p99: 20ms
t.yaml:5:24: the workload does not measure "p98"; did you mean "p90"?`},
		{"peak and rate", head + "load: {rate: 1/s, peak: {within: {p99: 1s}}}\n", `t.yaml:5:8: load: rate and peak are mutually exclusive`},
		{"peak of a rate that is set", w + "workload: {storage: {rate: 2/s}}\nload: {peak: {within: {p99: 1s}}}\n", `t.yaml:5:8: load: the rate is given twice: here and as workload.storage.rate, 2/s`},
		{"peak upside down", head + "load: {peak: {within: {p99: 1s}, from: 100/s, to: 50/s}}\n", `t.yaml:5:8: load: the search range from 100/s to 50/s is empty`},
		{"peak headline", web + "headline: [peak]\n", `t.yaml:5:12: the workload does not measure "peak"; did you mean "mean"?`},
		{"monitor without an address", head + "monitor: {gauge: {name: x}}\n", `t.yaml:5:10: monitor gauge: the service of this study is none: give its address`},
		{"monitor of a service of another kind", web + "service: nginx\nmonitor: gauge\n", `t.yaml:6:10: monitor gauge: the service of this study is none: give its address`},
		{"monitor that refuses", head + "monitor: {gauge: {address: nowhere}}\n", `t.yaml:5:10: monitor gauge: nowhere is no address`},
		{"monitor setting", head + "monitor: {gauge: {adress: x}}\n", `t.yaml:5:19: unknown key "adress"; did you mean "address"?`},
		{"unknown monitor", head + "monitor: guage\n", `t.yaml:5:10: unknown monitor "guage"; did you mean "gauge"?`},
		{"service of none", head + "service: nginx\n", `t.yaml:5:1: service: the workload storage uses no service`},
		{"unknown service", web + "service: ngnx\n", `t.yaml:5:10: unknown service "ngnx"; did you mean "nginx"?`},
		{"service of another protocol", web + "service: redis\n", `t.yaml:5:10: service: redis supports no protocol of the workload web (http); these do: nginx, apache`},
		{"factor of another service", web + "service: nginx\nfactors: {redis.io_threads: [1, 2]}\n", `t.yaml:6:11: factor "redis.io_threads": the service of this study is nginx, not redis`},
		{"service setting", web + "service: {nginx: {worker: 1}}\n", `t.yaml:5:19: unknown key "worker"; did you mean "workers"?`},
		{"service combination", web + "service: {nginx: {workers: 8}}\n", `t.yaml:5:10: service.nginx: 8 workers have nothing to do with 4 pages`},
		{"service level", web + "service: nginx\nfactors: {nginx.workers: [1, 8]}\n", `t.yaml:6:30: nginx.workers: level "8": 8 workers have nothing to do with 4 pages`},
		{"service varied and set", web + "service: {nginx: {workers: 2}}\nfactors: {nginx.workers: [1, 2]}\n", `t.yaml:6:11: nginx.workers is varied from the baseline 1, and 2 in the service: keep one of them`},
		{"rate without unit", head + "load: {rate: 5000}\n", `t.yaml:5:14: load.rate: "5000" is not a rate, like 5000/s`},
		{"rate twice", w + "workload: {storage: {rate: 1/s}}\nload: {rate: 2/s}\n", `t.yaml:5:8: load: the rate is given twice: here and as workload.storage.rate, 1/s`},
		{"rate varied", head + "factors: {storage.rate: [1/s, 2/s]}\nload: {rate: 2/s}\n", `t.yaml:6:8: load: the rate is given here and varied as storage.rate: keep one`},
		{"rate of a workload without", w + "workload: null\nload: {rate: 2/s}\n", `t.yaml:5:8: load: the workload null has no rate to set; use closed`},
		{"window", head + "measure: {window: 10}\n", `t.yaml:5:19: window: "10" is not a time with its unit, like 10s or 250ms`},
		{"window too short", head + "measure: {window: 1ms}\n", `t.yaml:5:19: window: "1ms" is not at least 100ms`},
		{"warm-up", head + "measure: {warmup: often}\n", `t.yaml:5:19: warmup: "often" is not auto or a time with its unit, like 10s or 250ms`},
		{"longest", head + "measure: {longest: 5s}\n", `t.yaml:5:20: longest: 5s has no room for a warm-up of 0s and a window of 10s`},
		{"interval", head + "measure: {window: 1s, interval: 2s}\n", `t.yaml:5:33: interval: 2s is longer than the window of 1s`},
		{"blocks", head + "measure: {blocks: many}\n", `t.yaml:5:19: blocks: "many" is not auto or a number from 1 to 100000`},
		{"looks", head + "measure: {looks: [6, 6]}\n", `t.yaml:5:18: looks: "6" is not a number of blocks above 6; looks must increase, such as [6, 9, 13]`},
		{"no looks", head + "measure: {looks: []}\n", `t.yaml:5:18: looks: give at least one number of blocks, such as [6, 9, 13]`},
		{"looks and blocks", head + "measure: {looks: [6, 9], blocks: 9}\n", `t.yaml:5:18: looks and blocks are mutually exclusive: each sets the number of blocks`},
		{"precision zero", head + "measure: {precision: 0%}\n", `t.yaml:5:22: precision: 0% is out of reach; give a half-width such as 1%`},
		{"retries", head + "measure: {retries: -1}\n", `t.yaml:5:20: retries: "-1" is not at least 0`},
		{"least of one", head + "headline: [least]\n", `t.yaml:5:12: least is measured only where several servers of the service, or several machines, share the load`},
		{"a mistake that hides servers", web + "service: nginx\nfactors: {nginx.workres: [1, 2]}\nheadline: [least, fairness]\n", `t.yaml:6:11: unknown factor "nginx.workres"; did you mean "nginx.workers"?`},
		{"headline", head + "headline: [iop]\n", `t.yaml:5:12: the workload does not measure "iop"; did you mean "iops"?`},
		{"headline twice", head + "headline: [iops, iops]\n", `t.yaml:5:18: headline: iops is named twice`},
		{"headline empty", head + "headline: []\n", `t.yaml:5:11: headline is empty; omit it for the workload's first metric`},
		{"margin", head + "margin: 0.02\n", `t.yaml:5:9: margin: "0.02" is not a percentage from 0% to 100%, like 70%`},
		{"goal", head + "goal: {most: iops, least: p99}\n", `t.yaml:5:7: goal: either most or least is required, such as {most: iops}`},
		{"floor", head + "goal: {least: p99, floor: {iops: 1000}}\n", `t.yaml:5:34: iops: "1000" is not a rate, like 5000/s`},
		{"limit", head + "limits: {p99: {max: 20}}\n", `t.yaml:5:21: p99: "20" is not a time with its unit, like 10s or 250ms`},
		{"limit without bound", head + "limits: {p99: {}}\n", `t.yaml:5:10: limits.p99: give a min or a max`},
		{"limit upside down", head + "limits: {p99: {min: 2s, max: 1s}}\n", `t.yaml:5:10: limits.p99: min is greater than max`},
		{"published", head + "published: [{metric: CPIO, note: n}]\n", `t.yaml:5:22: published[1]: the workload does not measure "CPIO"; to keep the figure give its unit`},
		{"published note", head + "published: [{metric: iops}]\n", `t.yaml:5:13: published[1]: the key "note" is missing`},
		{"published number", head + "published: [{metric: iops, note: n, change: up}]\n", `t.yaml:5:45: change: "up" is not a number or a percentage`},
		{"seed", head + "seed: -1\n", `t.yaml:5:7: seed: "-1" is not a whole number from 0 to 2^64-1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("t.yaml", []byte(c.text), testCatalog(), nil)
			got := strings.Join(mistakes(t, err), "\n")
			if got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// One mistake must hide no other, and cause none.
func TestAllMistakesAtOnce(t *testing.T) {
	text := `study: s
question: q
platform: {sim: {capasity: 1/s, noise: 5}}
workload: {storge: {threads: 1}}
factors:
  storage.threads: [1, 2]
  host.schedulr: [none]
measure: {window: 10, blocks: few}
headline: [iops]
margin: 2
sed: 1
`
	_, err := Parse("t.yaml", []byte(text), testCatalog(), []string{"measure.settle=5", "colour=red"})
	want := []string{
		`t.yaml:3:18: unknown key "capasity"; did you mean "capacity"?`,
		`t.yaml:3:40: noise: "5" is not a percentage from 0% to 100%, like 70%`,
		`t.yaml:4:12: unknown workload "storge"; did you mean "storage"?`,
		`t.yaml:7:3: unknown factor "host.schedulr"; did you mean "host.scheduler"?`,
		`t.yaml:8:19: window: "10" is not a time with its unit, like 10s or 250ms`,
		`t.yaml:8:31: blocks: "few" is not auto or a number from 1 to 100000`,
		`t.yaml:10:9: margin: "2" is not a percentage from 0% to 100%, like 70%`,
		`t.yaml:11:1: unknown key "sed"; did you mean "seed"?`,
		`--set colour: unknown key "colour"; known: study, question, platform, workload, machines, groups, tiles, operations, service, monitor, factors, commands, load, measure, headline, margin and 5 more`,
		`--set measure.settle: settle: "5" is not a time with its unit, like 10s or 250ms`,
	}
	if d := cmp.Diff(want, mistakes(t, err)); d != "" {
		t.Error(d)
	}
}

// A file that would grow without bound when read is refused, and quickly.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		n := string(rune('a'+i-1)) + "1"
		last := "a0"
		if i > 1 {
			last = string(rune('a'+i-2)) + "1"
		}
		b.WriteString(n + ": &" + n + " [*" + last + strings.Repeat(", *"+last, 8) + "]\n")
	}
	start := time.Now()
	_, err := Parse("t.yaml", []byte(b.String()), testCatalog(), nil)
	if err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("took %s, got %v", time.Since(start), err)
	}
	if _, err = Parse("t.yaml", []byte(strings.Repeat("[", 2<<20)), testCatalog(), nil); err == nil {
		t.Error("a file of 2 MiB was read")
	}
}

// The design's own example sets the baseline in the workload as well.
func TestASettingMayRepeatTheBaseline(t *testing.T) {
	s := parse(t, "study: s\nquestion: q\nplatform: local\nworkload: {storage: {size: 1024KiB}}\nfactors: {storage.size: [1MiB, 2MiB]}\n")
	if got := s.Settings(map[string]string{"storage.size": "2MiB"})["size"]; got != "2MiB" {
		t.Errorf("the level is overlaid by %s", got)
	}
}

func TestServiceOfAStudy(t *testing.T) {
	if s := parse(t, head); s.Service != nil {
		t.Errorf("a study of disks talks to %+v", s.Service)
	}
	if s := parse(t, web); s.Service == nil || s.Service.Kind != "nginx" {
		t.Errorf("a study that names no service talks to %+v, not to the first that fits", s.Service)
	}
	s := parse(t, web+"service: {nginx: {pages: 9}}\nfactors: {nginx.workers: [1, 2], web.connections: [4, 8]}\n", "nginx.pages=7", "factors.nginx.workers=[3, 4]")
	if !s.Factors[0].OfService || s.Factors[0].Parameter != "workers" || s.Factors[1].OfService {
		t.Errorf("factors %+v", s.Factors)
	}
	levels := map[string]string{"nginx.workers": "4", "web.connections": "8"}
	if d := cmp.Diff(parameter.Settings{"pages": "7", "workers": "4"}, s.ServiceSettings(levels)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(parameter.Settings{"connections": "8"}, s.Settings(levels)); d != "" {
		t.Error(d)
	}
}

func TestPeakOfAStudy(t *testing.T) {
	s := parse(t, head+"load: {peak: {within: {p99: 20ms, errors: 0/s}, to: 5000/s}}\n")
	want := &Peak{Within: []Limit{{Metric: "p99", Unit: "s", Max: ptr(.02)}, {Metric: "errors", Unit: "1/s", Max: ptr(0.)}}, From: 100, To: 5000}
	if d := cmp.Diff(want, s.Load.Peak); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"peak"}, s.Headline); d != "" {
		t.Error(d)
	}
	if s := parse(t, web+"load: {rate: 5/s, arrivals: poisson}"); s.Workload.Settings["arrivals"] != "poisson" || s.Load.Rate != 5 {
		t.Errorf("got %+v", s)
	}
}
