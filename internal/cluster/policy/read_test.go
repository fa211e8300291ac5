package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRead(t *testing.T) {
	data, err := os.ReadFile("testdata/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	inv, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	p := inv.Policies[0]
	if r := p.Sets[0].Rules[0]; p.Name != "gold" || p.Generation != 4 || r.Is != Equals || *r.Number != 2 {
		t.Errorf("%+v", p)
	}
	again(t, inv)
	for cut := range len(bytes.TrimSpace(data)) {
		if _, err := Read(bytes.NewReader(data[:cut])); err == nil {
			t.Fatalf("the first %d bytes pass for a whole inventory", cut)
		}
	}
}

// again checks that an inventory survives writing and reading.
func again(t *testing.T, inv *Inventory) {
	t.Helper()
	data, err := json.Marshal(inv)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	same(t, "after it was written", all(checked(t, back)), all(checked(t, inv)))
}

func TestReadMistakes(t *testing.T) {
	rule := func(r string) string {
		return `{"policies": [{"name": "p", "sets": [{"rules": [` + r + `]}]}]}`
	}
	store := func(s string) string { return `{"datastores": [{"name": "d", ` + s + `}]}` }
	vm := func(s string) string {
		return `{"datastores": [{"name": "vsan-01"}], "policies": [{"name": "gold"}], "vms": [{"name": "web", ` + s + `}]}`
	}
	for _, c := range []struct{ file, says string }{
		{``, "line 1: truncated file"},
		{`[]`, "line 1: an inventory is an object: begin with {"},
		{`{}{}`, "line 1: trailing data"},
		{"{}\n\nx", "line 3: trailing data"},
		{"{\"vms\": [],\n\"vms\": []}", `line 2: "vms" appears twice`},
		{"{\n\n\"hosts\": []}", `line 3: unknown key "hosts" of an inventory`},
		{"{\"vms\":\n {}}", "line 2: vms is a list"},
		{"{\"vms\": [\n{\"name\": \"a\"},\n{\"name\": \"b\", \"polcy\": 1}]}", `line 3: vms[1]: json: unknown field "polcy"`},
		{"{\"vms\": [\n\n{\"name\": 7}]}", `line 3: vms[0]: "name" must be a string, not a number`},
		{`{"vms": [{"name": "a"`, "vms[0]: truncated file"},
		{`{"policies": [{"name": "p", "generation": 1.5}]}`, `"generation" must be a int64, not a number 1.5`},
		{`{"policies": [{"name": "p", "generation": 99999999999999999999}]}`, `"generation" must be a int64`},

		{`{"policies": [{"name": "p"}, {"name": "p"}]}`, `policies[1] "p": duplicate name, also of policies[0]`},
		{`{"datastores": [{"name": ""}]}`, `datastores[0] "": name is missing`},
		{`{"datastores": [{"name": "a\u001b[31m"}]}`, `contains unprintable characters`},
		{`{"datastores": [{"name": "a\u202eb"}]}`, `contains unprintable characters`},
		{`{"policies": [{"name": "p", "generation": -1}]}`, `policies[0] "p": generation -1 is negative`},
		{`{"policies": [{"name": "p", "sets": [{"rules": []}]}]}`, "sets[0] has no rules, so every datastore would match"},

		{rule(`{"capability": "a.b", "is": "equal", "text": "x"}`), `sets[0].rules[0] on "a.b": unknown operator "equal"; must be one of ["equals" "one of" "within" "not"]`},
		{rule(`{"capability": "ab", "is": "equals", "text": "x"}`), `capability "ab" has no namespace: write NAMESPACE.NAME`},
		{rule(`{"capability": "a.", "is": "equals", "text": "x"}`), `capability "a." has no namespace`},
		{rule(`{"is": "equals", "text": "x"}`), `name of a capability is missing`},
		{rule(`{"capability": "a.b", "is": "equals"}`), `has 0 values: give one of text, set, number, or from and to`},
		{rule(`{"capability": "a.b", "is": "not", "text": "x", "number": 1}`), `has 2 values`},
		{rule(`{"capability": "a.b", "is": "equals", "set": ["x"]}`), `"equals" requires a text or a number`},
		{rule(`{"capability": "a.b", "is": "one of", "text": "x"}`), `"one of" requires a set`},
		{rule(`{"capability": "a.b", "is": "one of", "set": []}`), `set of sets[0].rules[0] on "a.b" is empty`},
		{rule(`{"capability": "a.b", "is": "one of", "set": ["x", "x"]}`), `has "x" twice`},
		{rule(`{"capability": "a.b", "is": "within", "number": 3}`), `"within" requires from, to or both`},
		{rule(`{"capability": "a.b", "is": "within", "from": 3, "to": 2}`), `has an empty range: from 3 is above to 2`},
		{rule(`{"capability": "a.b", "is": "equals", "text": "x"}, {"capability": "a.b", "is": "equals", "text": "x"}`), `sets[0].rules[1] on "a.b" appears twice`},

		{store(`"capabilities": [{"name": "a.b", "number": 1}, {"name": "a.b", "number": 2}]`), `capability "a.b" is listed twice`},
		{store(`"capabilities": [{"name": "tag.tier", "text": "x"}]`), `is in the namespace of tags: list it under tags`},
		{store(`"capabilities": [{"name": "a.b", "from": 2, "to": 1}]`), `capability "a.b" has an empty range`},
		{store(`"tags": {"tier": []}`), `tags of "tier" is empty`},

		{vm(`"home": {"policy": "gl\u0007d"}`), `vms[0] "web": home: policy "gl\ad" contains unprintable characters`},
		{vm(`"home": {"datastore": "n\nfs"}`), `vms[0] "web": home: datastore "n\nfs" contains unprintable characters`},
		{vm(`"disks": [{"name": "d"}, {"name": "d"}]`), `two disks have the name "d"`},
		{vm(`"disks": [{}]`), `name of a disk is missing`},
		{vm(`"home": {"name": "h"}`), `home has the name "h": only disks have one`},
		{vm(`"home": {"applied": -1}`), `a generation is negative`},
	} {
		inv, err := Read(strings.NewReader(c.file))
		if err == nil || inv != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s\n gives %v\n want %s", c.file, err, c.says)
		}
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// Thousands of errors are summarised, and found in time.
func TestManyMistakes(t *testing.T) {
	inv := made{vms: 10_000, disks: 12, policies: 3, stores: 3}.inventory(1)
	for i := range inv.VMs {
		inv.VMs[i].Home.Policy = "policy-99"
		inv.VMs[i].Disks[11].Name = inv.VMs[i].Disks[3].Name
	}
	err := inv.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != mostComplaints || !strings.HasSuffix(err.Error(), "and 9980 more errors") {
		t.Error(err)
	}
}

// The embedded values are inlined by tags alone, in both formats.
func TestTagsForBothFormats(t *testing.T) {
	var look func(kind reflect.Type)
	look = func(kind reflect.Type) {
		switch kind.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			look(kind.Elem())
		case reflect.Struct:
			for f := range kind.Fields() {
				if yaml := f.Tag.Get("yaml"); f.Anonymous && yaml != ",inline" || !f.Anonymous && (yaml == "" || yaml != f.Tag.Get("json")) {
					t.Errorf("%s.%s has the tags %s", kind, f.Name, f.Tag)
				}
				look(f.Type)
			}
		}
	}
	look(reflect.TypeFor[Inventory]())
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/cluster.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"vms": [{"name": "a", "disks": [{"name": "b"}]}]}`))
	f.Add([]byte(`{"datastores": [{"name": "d", "tags": {"t": ["x"]}, "capabilities": [{"name": "a.b", "from": -9223372036854775808}]}],
		"policies": [{"name": "p", "sets": [{"rules": [{"capability": "a.b", "is": "not", "to": 9223372036854775807}]}]}],
		"vms": [{"name": "v", "home": {"policy": "p", "datastore": "d"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		inv, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		again(t, inv)
		c := checked(t, inv)
		listed(t, c.Report())
		var text bytes.Buffer
		if err := c.Report().Text(&text); err != nil || text.Len() == 0 {
			t.Fatal(err)
		}
	})
}
