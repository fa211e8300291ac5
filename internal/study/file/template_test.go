package file_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/study/describe"
	"plimsoll/internal/study/file"
)

var update = flag.Bool("update", false, "write the golden files anew")

type lentSettings struct {
	Address string          `name:"address" doc:"use the one that listens there"`
	Memory  parameter.Bytes `name:"memory" doc:"for values"`
}

func TestTemplateText(t *testing.T) {
	c := file.TestCatalog()
	c.Services[2] = service.Define(service.Kind{Name: "apache", Doc: "Serves pages.\nAnd more.", Speaks: []string{"http"}}, lentSettings{},
		func(lentSettings) (service.Service, error) { return nil, nil })
	for _, name := range []string{"web", "storage", "null"} {
		text, err := describe.Template(c, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Parse("template", text, c, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden := filepath.Join("testdata", "template-"+name+".yaml")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(text)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Each service line of a template stands for a study when it is no comment any more.
func TestServicesOfATemplate(t *testing.T) {
	c := file.TestCatalog()
	text, err := describe.Template(c, "web")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	tried := map[string]bool{}
	for i, line := range lines {
		live, found := strings.CutPrefix(line, "# service: ")
		if !found {
			continue
		}
		name, _, _ := strings.Cut(live, " ")
		was := lines[i]
		lines[i] = "service: " + live
		s, err := file.Parse("template", []byte(strings.Join(lines, "\n")), c, nil)
		if err != nil || s.Service == nil || s.Service.Kind != name {
			t.Errorf("%s: %+v, %v", live, s, err)
		}
		lines[i] = was
		tried[name] = true
	}
	if len(tried) != 2 || !tried["nginx"] || !tried["apache"] {
		t.Errorf("the template offers %v", tried)
	}
}
