package main_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/catalog"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/study/describe"
	"plimsoll/internal/study/file"
	"plimsoll/studies"
)

// all returns the built-in studies by name of the file.
func all(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(studies.Files, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("studies %v: %v", names, err)
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := studies.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

func TestBuiltInStudies(t *testing.T) {
	c := catalog.All()
	for name, text := range all(t) {
		s, err := file.Parse(name, []byte(text), c, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name+".yaml" != name || !strings.Contains(s.Question, "?") {
			t.Errorf("%s: study %q asks %q", name, s.Name, s.Question)
		}
		p, err := plan.New(s, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b := p.Budget(0, s.Measure.Settle+s.Measure.Longest); b.Short {
			t.Errorf("%s: %s", name, b.Sentence)
		}
		// A laptop's disk, and a working day at the worst.
		virtual := s.Platform.Kind == "cluster-sim" // a day takes a second there
		if e := p.Estimate(s.Measure.Settle + s.Measure.Longest); e.Time > time.Hour && !virtual {
			t.Errorf("%s takes up to %s", name, e.Time)
		}
	}
}

// The tuning demo promises to end within three minutes: a first measurement and
// a verification that needs its second look.
func TestTheDemoIsShort(t *testing.T) {
	s, err := file.Parse("hci-diagnostics.yaml", []byte(all(t)["hci-diagnostics.yaml"]), catalog.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	trial := s.Measure.Settle + s.Measure.Longest + time.Second
	first, err := plan.New(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Factors = []study.Factor{{Name: "storage.threads", Parameter: "threads", Levels: []string{"1", "2"}}}
	second, err := plan.New(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if total := first.Estimate(trial).Time + time.Duration(2*second.Looks[1])*trial; total > 3*time.Minute {
		t.Errorf("it takes %s", total)
	}
}

func TestSchemaAndTemplatesOfTheCatalog(t *testing.T) {
	c := catalog.All()
	text, err := describe.Schema(c)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("study.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("study.json")
	if err != nil {
		t.Fatal(err)
	}
	texts := all(t)
	for _, k := range c.Workloads {
		text, err := describe.Template(c, k.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Parse("template of "+k.Name, text, c, nil); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		texts["template of "+k.Name] = string(text)
	}
	for name, text := range texts {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, n.Content[0])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// instance is what an editor makes of a YAML file: keys are texts.
func instance(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, instance(t, c))
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = instance(t, n.Content[i+1])
		}
		return out
	}
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
