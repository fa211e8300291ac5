package snapshot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// plainNode is a node with all of its members.
type plainNode struct {
	Kind         kind
	Quoted       bool
	Line, Column int32
	Text         string
	Kids         []plainNode
}

func whole(n *node) plainNode {
	out := plainNode{n.kind, n.quoted, n.line, n.column, n.text, nil}
	all := n.all()
	for i := range all {
		out.Kids = append(out.Kids, whole(&all[i]))
	}
	return out
}

// decoded is what encoding/json makes of a text, by the nodes of the same.
func decoded(n plainNode) (any, error) {
	switch n.Kind {
	case mapping:
		m := map[string]any{}
		for i := 0; i < len(n.Kids); i += 2 {
			v, err := decoded(n.Kids[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Kids[i].Text] = v
		}
		return m, nil
	case list:
		l := []any{}
		for _, k := range n.Kids {
			v, err := decoded(k)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		return l, nil
	}
	if n.Quoted {
		return n.Text, nil
	}
	if n.Text == "" {
		return nil, nil
	}
	var v any
	d := json.NewDecoder(strings.NewReader(n.Text))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err
}

func seeds(f *testing.F) {
	small := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 2, VMs: 3, Pools: 2, Load: .5, Placed: true})
	small.Rules = []cluster.Rule{{Name: "r", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1}}}
	f.Add(string(written(f, small, asJSON)))
	f.Add(string(written(f, small, asYAML)))
	f.Add(documented(f))
	files, _ := filepath.Glob("testdata/bad/*.*")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	for _, text := range []string{
		"a:\n  - {b: 1}\n", "a:\n- {b: 1, c: [x, 'y', \"z\"]}\n# c\n\n- {}\nd: 2\n", "a: 'x\nb:\n  - {c: 1}\n'\n", "a: [1,\nb:\n  - {c: 1}\n]\n",
		"x: |\n  text\nb:\n  - {c: null, d: ~, e: 1:2}\n---\n", "{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\"], \"b\": {}}", "b:\n  - {c: 1} # d\n", "\"b\":\n  - {c: 1}\nb:\n  - {c: 1}\n",
		"b:\n  - {c: 1}\n ...\n", "b:\n  - {c: 1}\n...\nd:\n  - {e: 1}\n", "b:\n  - {\"c\":1, d : 2, 'e': 3}\n", "? b:\n  - {c: 1}\n", "b:\n  - {c: 1}\n  - d\n", "- a\nb:\n  - {c: 1}\n",
		"b:\n  - {c: +1, d: -1, e: a-, f: 1%}\n", "a: &x\nb:\n  - {c: 1}\n", "!t\nb:\n  - {c: 1}\n", "%YAML 1.1\n---\nb:\n  - {c: 1}\n", "b:\n  - {c: \"a\\\"b\"}\n",
	} {
		f.Add(text)
	}
}

// JSON is read as encoding/json reads it, and nothing else is.
func FuzzJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		n, fault := readJSON(text)
		valid := json.Valid([]byte(text))
		if fault != nil {
			if valid && !strings.Contains(fault.text, "nested") {
				t.Fatalf("%q is JSON: %s at %d:%d", text, fault.text, fault.place.line, fault.place.column)
			}
			return
		}
		if !valid {
			t.Fatalf("%q is no JSON", text)
		}
		got, err := decoded(whole(n))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

// YAML of which lists are cut out is read as the YAML parser reads all of it.
func FuzzSections(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		fast, cut := fastYAML(text)
		if !cut {
			return
		}
		doc, _, err := oneDocument([]byte(text))
		if err != nil {
			t.Fatalf("%q is read without its lists, and with them: %v", text, err)
		}
		r := newReader("c.yaml", limits{})
		var slow node
		if r.convert(doc, &slow, 0); len(r.mistakes) > 0 {
			t.Fatalf("%q: %v", text, r.err())
		}
		if diff := cmp.Diff(whole(&slow), whole(fast)); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

// fastYAML reads a text with its lists cut out; false where that is not possible.
func fastYAML(text string) (*node, bool) {
	r := newReader("c.yaml", limits{})
	n := r.withoutSections(text)
	return n, n != nil
}

// Snapshots as they are written are read without the YAML parser, but for a few lines.
func TestSectionsOfASnapshot(t *testing.T) {
	c := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 4, VMs: 30, Pools: 2, Rules: 3, Load: .5, Placed: true})
	text := string(written(t, c, asYAML))
	list, rest := sections(text)
	var keys []string
	for _, s := range list {
		keys = append(keys, fmt.Sprintf("%s %d", s.key, len(s.items.spans)))
	}
	if diff := cmp.Diff([]string{"pools 2", "hosts 4", "vms 30", "rules 3"}, keys); diff != "" {
		t.Error(diff)
	}
	if strings.Count(rest, "\n") != strings.Count(text, "\n") || strings.Contains(rest, "- {") {
		t.Errorf("what is left:\n%s", rest)
	}
	if _, cut := fastYAML(text); !cut {
		t.Error("the lists are not cut out")
	}
}
