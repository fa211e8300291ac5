package file_test

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/study/describe"
	"plimsoll/internal/study/file"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := describe.Schema(file.TestCatalog())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("study.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("study.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance is what an editor makes of a YAML file: keys are texts.
func instance(t *testing.T, text string) any {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	var convert func(n *yaml.Node) any
	convert = func(n *yaml.Node) any {
		switch n.Kind {
		case yaml.DocumentNode:
			return convert(n.Content[0])
		case yaml.SequenceNode:
			out := []any{}
			for _, c := range n.Content {
				out = append(out, convert(c))
			}
			return out
		case yaml.MappingNode:
			out := map[string]any{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				out[n.Content[i].Value] = convert(n.Content[i+1])
			}
			return out
		}
		var v any
		if err := n.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	return convert(&n)
}

func TestSchemaAccepts(t *testing.T) {
	s := compiled(t)
	texts := map[string]string{
		"smallest": file.HeadTest, "null": strings.Replace(file.HeadTest, "storage", "null", 1), "settings of null": strings.Replace(file.HeadTest, "storage", "{null: }", 1),
		"design": `
study: queue-depth
question: Does a second outstanding I/O per disk raise random-write IOPS?
platform: local
workload:
  storage: {disks: 2, size: 512MiB, block: 4KiB, read: 0%, random: 100%, threads: 1}
factors:
  storage.threads: [1, 2]
load: closed
measure: {warmup: auto, window: 10s, blocks: auto}
headline: [iops, write.p99]
margin: 2%
`,
		// A seed of 2^64-1 is a float to this reader of YAML, and not to us.
		"full":   strings.Replace(file.FullTest, "seed: 18446744073709551615", "seed: 1", 1),
		"groups": strings.Replace(file.HeadTest, "workload: storage", "groups: {a: {workload: storage}, b: {workload: storage}}", 1) + "headline: [all.iops, b.write.p99.9]\n",
		"rate":   file.HeadTest + "load: {rate: 1.5e3/s}\nmeasure: {settle: 0, longest: 1m30s, precision: .5%, blocks: 12}\nheadline: p99\n",
	}
	texts["service"] = file.WebTest + "service: {nginx: {workers: 2}}\nfactors: {nginx.pages: [1, 2]}\nload: {rate: 5/s, arrivals: poisson}\n"
	texts["peak"] = file.WebTest + "service: nginx\nload: {peak: {within: {p99: 20ms, errors: 0/s}, from: 10/s}}\n"
	for _, k := range file.TestCatalog().Workloads {
		text, err := describe.Template(file.TestCatalog(), k.Name)
		if err != nil {
			t.Fatal(err)
		}
		texts["template of "+k.Name] = string(text)
	}
	for name, text := range texts {
		if err := s.Validate(instance(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		"study: s\n",
		file.HeadTest + "headlines: [iops]\n",
		file.HeadTest + "headline: [iop]\n",
		file.HeadTest + "headline: []\n",
		file.HeadTest + "headline: [all.iop]\n",
		file.HeadTest + "margin: 0.02\n",
		file.HeadTest + "seed: -1\n",
		file.HeadTest + "load: open\n",
		file.HeadTest + "load: {rate: 5000}\n",
		file.HeadTest + "load: {ramp: {}}\n",
		file.HeadTest + "load: {peak: {}}\n",
		file.WebTest + "service: {nginx: {worker: 2}}\n",
		file.WebTest + "service: ngnx\n",
		file.HeadTest + "measure: {window: 10}\n",
		file.HeadTest + "measure: {windw: 10s}\n",
		file.HeadTest + "measure: {blocks: many}\n",
		file.HeadTest + "measure: {looks: [1]}\n",
		file.HeadTest + "measure: {retries: -1}\n",
		file.HeadTest + "factors: {storage.treads: [1]}\n",
		file.HeadTest + "factors: {storage.threads: [0]}\n",
		file.HeadTest + "factors: {storage.threads: []}\n",
		file.HeadTest + "factors: {storage.threads: [1, 1]}\n",
		file.HeadTest + "factors: {storage.size: [4]}\n",
		file.HeadTest + "factors: {label: a}\n",
		file.HeadTest + "factors: {'host.quota:': [1]}\n",
		file.HeadTest + "commands: {turbo: {read: a}}\n",
		file.HeadTest + "goal: {most: iops, least: p99}\n",
		file.HeadTest + "goal: {floor: {}}\n",
		file.HeadTest + "limits: {p99: {}}\n",
		file.HeadTest + "limits: {p99: {max: 20}}\n",
		file.HeadTest + "published: [{metric: iops}]\n",
		strings.Replace(file.HeadTest, "storage", "storge", 1),
		strings.Replace(file.HeadTest, "storage", "{storage: {}, null: {}}", 1),
		strings.Replace(file.HeadTest, "storage", "{storage: {engine: aio}}", 1),
		strings.Replace(file.HeadTest, "storage", "{storage: {direct: sometimes}}", 1),
		strings.Replace(file.HeadTest, "storage", "{storage: {read: 0.7}}", 1),
		strings.Replace(file.HeadTest, "study: s", "study: a/b", 1),
	} {
		if s.Validate(instance(t, text)) == nil {
			t.Errorf("the schema accepts:\n%s", text)
		}
		if _, err := file.Parse("t.yaml", []byte(text), file.TestCatalog(), nil); err == nil {
			t.Errorf("the parser accepts:\n%s", text)
		}
	}
}

func TestTemplate(t *testing.T) {
	for _, k := range file.TestCatalog().Workloads {
		text, err := describe.Template(file.TestCatalog(), k.Name)
		if err != nil {
			t.Fatal(err)
		}
		s := file.ParseTest(t, string(text))
		want := file.MeasureTest()
		if d := cmp.Diff(want, s.Measure); d != "" {
			t.Errorf("%s: the defaults that it shows are not the defaults: %s", k.Name, d)
		}
		if len(s.Factors) != 0 || s.Workload.Kind != k.Name {
			t.Errorf("%s: got %+v", k.Name, s)
		}
	}
	text, err := describe.Template(file.TestCatalog(), "storage")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"workers on each disk (integer from 1 to 256)", "psync, libaio, io_uring", "# rate:", "#   p99 ", "# goal: {most: iops}"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the template lacks %q:\n%s", want, text)
		}
	}
	if _, err := describe.Template(file.TestCatalog(), "nginx"); err == nil || err.Error() != `"nginx" is a service, not a workload; web can drive it` {
		t.Errorf("a template for a service: %v", err)
	}
	if _, err := describe.Template(file.TestCatalog(), "storag"); err == nil || err.Error() != `unknown workload "storag"; did you mean "storage"?` {
		t.Errorf("got %v", err)
	}
}

// Every path that completion offers is one that an override reaches: a complaint
// is about the value, never about the path.
func TestPathsAreKeys(t *testing.T) {
	for _, path := range describe.Paths() {
		_, err := file.Parse("t.yaml", []byte(file.HeadTest), file.TestCatalog(), []string{path + "=?"})
		if err != nil && strings.Contains(err.Error(), "unknown key") {
			t.Errorf("--set %s: %v", path, err)
		}
	}
}
