package study

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(testCatalog())
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
		"smallest": head, "null": strings.Replace(head, "storage", "null", 1), "settings of null": strings.Replace(head, "storage", "{null: }", 1),
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
		"full": strings.Replace(full, "seed: 18446744073709551615", "seed: 1", 1),
		"rate": head + "load: {rate: 1.5e3/s}\nmeasure: {settle: 0, longest: 1m30s, precision: .5%, blocks: 12}\nheadline: p99\n",
	}
	texts["service"] = web + "service: {nginx: {workers: 2}}\nfactors: {nginx.pages: [1, 2]}\nload: {rate: 5/s, arrivals: poisson}\n"
	texts["peak"] = web + "service: nginx\nload: {peak: {within: {p99: 20ms, errors: 0/s}, from: 10/s}}\n"
	for _, k := range testCatalog().Workloads {
		text, err := Template(testCatalog(), k.Name)
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
		head + "headlines: [iops]\n",
		head + "headline: [iop]\n",
		head + "headline: []\n",
		head + "margin: 0.02\n",
		head + "seed: -1\n",
		head + "load: open\n",
		head + "load: {rate: 5000}\n",
		head + "load: {ramp: {}}\n",
		head + "load: {peak: {}}\n",
		web + "service: {nginx: {worker: 2}}\n",
		web + "service: ngnx\n",
		head + "measure: {window: 10}\n",
		head + "measure: {windw: 10s}\n",
		head + "measure: {blocks: many}\n",
		head + "measure: {looks: [1]}\n",
		head + "measure: {retries: -1}\n",
		head + "factors: {storage.treads: [1]}\n",
		head + "factors: {storage.threads: [0]}\n",
		head + "factors: {storage.threads: []}\n",
		head + "factors: {storage.threads: [1, 1]}\n",
		head + "factors: {storage.size: [4]}\n",
		head + "factors: {label: a}\n",
		head + "factors: {'host.quota:': [1]}\n",
		head + "commands: {turbo: {read: a}}\n",
		head + "goal: {most: iops, least: p99}\n",
		head + "goal: {floor: {}}\n",
		head + "limits: {p99: {}}\n",
		head + "limits: {p99: {max: 20}}\n",
		head + "published: [{metric: iops}]\n",
		strings.Replace(head, "storage", "storge", 1),
		strings.Replace(head, "storage", "{storage: {}, null: {}}", 1),
		strings.Replace(head, "storage", "{storage: {engine: aio}}", 1),
		strings.Replace(head, "storage", "{storage: {direct: sometimes}}", 1),
		strings.Replace(head, "storage", "{storage: {read: 0.7}}", 1),
		strings.Replace(head, "study: s", "study: a/b", 1),
	} {
		if s.Validate(instance(t, text)) == nil {
			t.Errorf("the schema accepts:\n%s", text)
		}
		if _, err := Parse("t.yaml", []byte(text), testCatalog(), nil); err == nil {
			t.Errorf("the parser accepts:\n%s", text)
		}
	}
}

func TestTemplate(t *testing.T) {
	for _, k := range testCatalog().Workloads {
		text, err := Template(testCatalog(), k.Name)
		if err != nil {
			t.Fatal(err)
		}
		s := parse(t, string(text))
		want := defaultMeasure()
		if d := cmp.Diff(want, s.Measure); d != "" {
			t.Errorf("%s: the defaults that it shows are not the defaults: %s", k.Name, d)
		}
		if len(s.Factors) != 0 || s.Workload.Kind != k.Name {
			t.Errorf("%s: got %+v", k.Name, s)
		}
	}
	text, err := Template(testCatalog(), "storage")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"workers on each disk (integer from 1 to 256)", "psync, libaio, io_uring", "# rate:", "#   p99 ", "# goal: {most: iops}"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the template lacks %q:\n%s", want, text)
		}
	}
	if _, err := Template(testCatalog(), "nginx"); err == nil || err.Error() != `"nginx" is a service and no workload; web can drive it` {
		t.Errorf("a template for a service: %v", err)
	}
	if _, err := Template(testCatalog(), "storag"); err == nil || err.Error() != `there is no workload "storag"; did you mean "storage"?` {
		t.Errorf("got %v", err)
	}
}
