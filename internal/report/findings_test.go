package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plimsoll/internal/finding/schema"
)

// strict is the published schema of findings, without leave to add keys.
func strict(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema.Findings))
	if err != nil {
		t.Fatal(err)
	}
	var closeAll func(any)
	closeAll = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, object := v["properties"].(map[string]any); object {
				v["additionalProperties"] = false
			}
			for _, below := range v {
				closeAll(below)
			}
		case []any:
			for _, below := range v {
				closeAll(below)
			}
		}
	}
	closeAll(document)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("findings", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("findings")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, s *jsonschema.Schema, value any) error {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(document)
}

func TestFindingsKeepToTheirSchema(t *testing.T) {
	s := strict(t)
	for name := range fixtures() {
		if err := validate(t, s, rendered(t, name).Findings); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaOfFindingsBites(t *testing.T) {
	s := strict(t)
	good, err := json.Marshal(rendered(t, "decided").Findings)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(map[string]any){
		"another format":  func(f map[string]any) { f["format"] = 1 },
		"an unknown key":  func(f map[string]any) { f["colour"] = "red" },
		"no arms":         func(f map[string]any) { delete(f, "arms") },
		"a wrong type":    func(f map[string]any) { f["blocks"] = "six" },
		"another verdict": func(f map[string]any) { f["headlines"].([]any)[0].(map[string]any)["verdict"] = "faster" },
	} {
		var f map[string]any
		if err := json.Unmarshal(good, &f); err != nil {
			t.Fatal(err)
		}
		change(f)
		if validate(t, s, f) == nil {
			t.Errorf("%s is valid", what)
		}
	}
}
