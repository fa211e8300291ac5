package study

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOverrides(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		same string // the study that it must equal
	}{
		{"measure", []string{"measure.window=5s"}, head + "measure: {window: 5s}"},
		{"setting", []string{"workload.storage.disks=4"}, strings.Replace(head, "workload: storage", "workload: {storage: {disks: 4}}", 1)},
		{"setting in short", []string{"storage.disks=4"}, strings.Replace(head, "workload: storage", "workload: {storage: {disks: 4}}", 1)},
		{"platform", []string{"platform=sim"}, strings.Replace(head, "local", "sim", 1)},
		{"the same workload keeps its settings", []string{"storage.disks=4", "workload=storage"}, strings.Replace(head, "workload: storage", "workload: {storage: {disks: 4}}", 1)},
		{"setting of another platform", []string{"platform=sim", "platform.sim.servers=3"}, strings.Replace(head, "local", "{sim: {servers: 3}}", 1)},
		{"whole platform", []string{"platform={sim: {servers: 3}}"}, strings.Replace(head, "local", "{sim: {servers: 3}}", 1)},
		{"levels", []string{"factors.storage.threads=[1, 2]"}, head + "factors: {storage.threads: [1, 2]}"},
		{"levels with a target", []string{"factors.host.scheduler:sda=[none]"}, head + "factors: {'host.scheduler:sda': [none]}"},
		{"list", []string{"storage.targets=[/a, /b]"}, strings.Replace(head, "workload: storage", "workload: {storage: {targets: [/a, /b]}}", 1)},
		{"limit of a metric with dots", []string{"limits.write.p99.9.max=20ms"}, head + "limits: {write.p99.9: {max: 20ms}}"},
		{"floor of a metric with dots", []string{"goal.least=p99", "goal.floor.write.iops=5/s"}, head + "goal: {least: p99, floor: {write.iops: 5/s}}"},
		{"command", []string{"commands.t.read=cat a", "commands.t.apply=echo {level}"}, head + "commands: {t: {read: cat a, apply: 'echo {level}'}}"},
		{"text with a colon", []string{"question=Is it: so?"}, strings.Replace(head, "q?", "'Is it: so?'", 1)},
		{"text with an equals sign", []string{"question=a=b"}, strings.Replace(head, "q?", "a=b", 1)},
		{"peak", []string{"load.peak.within.p99.9=5ms", "load.peak.from=7/s"}, head + "load: {peak: {within: {p99.9: 5ms}, from: 7/s}}"},
		{"rate", []string{"load.rate=5/s"}, head + "load: {rate: 5/s}"},
		{"headline", []string{"headline=p99"}, head + "headline: [p99]"},
		{"the last one counts", []string{"margin=1%", "margin=3%"}, head + "margin: 3%"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := parse(t, c.same)
			want.Sets = c.sets // noted, so that a run can say how to repeat it
			if d := cmp.Diff(want, parse(t, head, c.sets...), unplaced); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOverridesDisplace(t *testing.T) {
	s := parse(t, head+"measure: {precision: 1%}", "measure.blocks=9")
	if s.Measure.Blocks != 9 || s.Measure.Precision != 0 {
		t.Errorf("blocks over precision: %+v", s.Measure)
	}
	s = parse(t, head+"measure: {looks: [6, 7]}", "measure.blocks=9")
	if s.Measure.Blocks != 9 {
		t.Errorf("blocks over looks: %+v", s.Measure)
	}
	s = parse(t, head+"measure: {looks: [6, 7]}", "measure.blocks=auto")
	if d := cmp.Diff([]int{6, 7}, s.Measure.Looks); d != "" {
		t.Error(d)
	}
	s = parse(t, head+"measure: {blocks: 9}", "measure.precision=2%")
	if s.Measure.Blocks != 0 || s.Measure.Precision != 0.02 {
		t.Errorf("precision over blocks: %+v", s.Measure)
	}
	s = parse(t, strings.Replace(head, "storage", "{storage: {threads: 4, disks: 2}}", 1), "factors.storage.threads=[1, 2]")
	if s.Workload.Settings["threads"] != "" || s.Workload.Settings["disks"] != "2" || len(s.Factors) != 1 {
		t.Errorf("levels over a setting: %+v", s)
	}
	s = parse(t, head+"goal: {least: p99}", "goal.most=iops")
	if s.Goal.Metric != "iops" {
		t.Errorf("goal: %+v", s.Goal)
	}
	s = parse(t, head+"load: closed\nmeasure:\nlimits:\n", "load.rate=5/s", "measure.settle=0s", "limits.p99.max=1s")
	if s.Load.Rate != 5 || s.Measure.Settle != 0 || len(s.Limits) != 1 || s.Measure.Window != 10*time.Second {
		t.Errorf("got %+v", s)
	}
}

func TestOverrideMistakes(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"window", "--set window: expected path=value, such as measure.window=5s"},
		{"=5", "--set =5: expected path=value, such as measure.window=5s"},
		{"window=5s", `--set window: unknown key "window"; known: study, question, platform, workload, machines, groups, tiles, operations, service, monitor, factors, commands, load, measure, headline, margin and 5 more`},
		{"mesure.window=5s", `--set mesure.window: unknown key "mesure"; did you mean "measure"?`},
		{"measure.windw=5s", `--set measure.windw: unknown key "windw"; did you mean "window"?`},
		{"measure.window=5", `--set measure.window: window: "5" is not a time with its unit, like 10s or 250ms`},
		{"measure.window=", `--set measure.window: window is empty`},
		{"storage.depht=5", `--set storage.depht: unknown key "depht"; did you mean "depth"?`},
		{"workload.null.x=5", `--set workload.null.x: the workload of this study is storage; to change it: --set workload=null`},
		{"platform.sim.servers=5", `--set platform.sim.servers: the platform of this study is local; to change it: --set platform=sim`},
		{"platform=simm", `--set platform: unknown platform "simm"; did you mean "sim"?`},
		{"storage.threads=4", `--set storage.threads: storage.threads is varied from the baseline 1, and 4 in the workload: keep one of them`},
		{"headline=[iops", `--set headline: this bracket or quote is not closed: is the file truncated?`},
		{"headline=[*a]", `--set headline: this is not YAML: unknown anchor 'a' referenced`},
		{"margin.x=1", `--set margin.x: margin has no keys: --set margin=value replaces all of it`},
		{"storage.engine=aio", `--set storage.engine: engine: "aio" is not one of psync, libaio, io_uring`},
		{"storage.depth=4", `--set storage.depth: `},
	} {
		t.Run(c.set, func(t *testing.T) {
			text := head + "factors: {storage.threads: [1, 2]}\n"
			if c.set == "storage.depth=4" { // a mistake that shows only when the load is built
				c.want = `t.yaml:4:11: workload.storage: engine psync has depth 1, not 4; take libaio`
			}
			_, err := Parse("t.yaml", []byte(text), testCatalog(), []string{c.set})
			if got := strings.Join(mistakes(t, err), "\n"); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
