package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/report/page"
)

// forge changes the record of the first trial, with all checksums as they should be.
func forge(t *testing.T, dir string, change func(record map[string]any)) {
	t.Helper()
	name := filepath.Join(dir, "trials/0001/record.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	former := measure.Checksum(text)
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	change(record)
	if text, err = json.Marshal(record); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for line := range bytes.Lines(journal) {
		body, _, _ := bytes.Cut(line, []byte(`,"crc":`))
		body = bytes.ReplaceAll(body, []byte(former), []byte(measure.Checksum(text)))
		lines = fmt.Appendf(lines, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), lines, 0o644); err != nil {
		t.Fatal(err)
	}
}

// judged reads a folder in every way that there is, and returns the error of each.
func judged(dir, sound string) map[string]error {
	l := &Lab{Catalog: few(), Version: "test"}
	errs := map[string]error{}
	outcome, err := l.Judge(dir)
	errs["report"] = err
	if err == nil {
		_, errs["report"] = json.Marshal(outcome.Findings)
	}
	if errs["report"] == nil {
		errs["report"] = page.Write(io.Discard, outcome.Input)
	}
	compared, err := l.ComparePair(dir, sound, nil)
	errs["compare"] = err
	if err == nil {
		_, errs["compare"] = json.Marshal(compared[0].Input.Findings)
	}
	for _, format := range []string{"json", "csv", "parquet", "benchfmt"} {
		errs["export to "+format] = l.Export(io.Discard, dir, format)
	}
	return errs
}

// A forged record is refused with its file and field; one that is merely odd is judged.
func TestForgedRecords(t *testing.T) {
	t.Parallel()
	sound := ran(t, "tutorial-aa", 5, "measure.blocks=2").Dir
	values := func(name string, v any) func(map[string]any) {
		return func(r map[string]any) { r["values"].(map[string]any)[name] = v }
	}
	field := func(name string, v any) func(map[string]any) { return func(r map[string]any) { r[name] = v } }
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string // of the error; empty for none
	}{
		"overflow":            {values("operations", 1e308), `trials/0001/record.json: values["operations"] is 1e+308, which is not a possible measurement`},
		"the other way":       {values("p99", -1e308), `values["p99"] is -1e+308`},
		"a counter":           {field("counters", map[string]any{"lab.cpu": 1e200}), `counters["lab.cpu"] is 1e+200`},
		"negative counts":     {field("counts", map[string]any{"operations": -5}), `counts["operations"] is -5, and cannot be negative`},
		"not a number":        {values("operations", "NaN"), "trials/0001/record.json: json:"},
		"another arm":         {field("arm", 99), "trials/0001/record.json: arm is 99, and the study has 2 arms"},
		"negative arm":        {field("arm", -1), "arm is -1"},
		"another trial":       {field("trial", 7), "is the record of trial 7, not 1"},
		"window":              {field("window", map[string]any{"cut": -1e300, "end": 1, "steady": "steady", "drift": 0}), "window.cut is -1e+300"},
		"a probe":             {field("probes", []any{map[string]any{"phase": "x", "rate": 1e300}}), "probes[0].rate is 1e+300"},
		"far block":           {field("block", 1<<40), ""},
		"zero":                {values("operations", 0), ""},
		"negative rate":       {values("operations", -3), ""},
		"as large as allowed": {values("operations", 1e100), ""},
		"next to nothing":     {values("operations", 1e-300), ""},
		"names":               {values("=1+1\x1b[2J\u202e", 1), ""},
		"no values":           {field("values", map[string]any{}), ""},
		"void":                {field("void", "\x1b]0;x\x07"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(folder(t), "forged")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			forge(t, dir, c.change)
			for way, err := range maps.All(judged(dir, sound)) {
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", way, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%s: %v, want %q", way, err, c.want)
				}
			}
		})
	}
}
