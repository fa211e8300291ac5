package document

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var clusterFormat = Format{What: "cluster", Most: 1 << 20, Example: "hosts: [...]", JSON: true}

// plainNode is a node with all of its members.
type plainNode struct {
	Kind         Kind
	Quoted       bool
	Line, Column int32
	Text         string
	Kids         []plainNode
}

func whole(n *Node) plainNode {
	out := plainNode{n.Kind, n.Quoted, n.Line, n.Column, n.Text, nil}
	all := n.All()
	for i := range all {
		out.Kids = append(out.Kids, whole(&all[i]))
	}
	return out
}

// decoded is what encoding/json makes of a text, by the nodes of the same.
func decoded(n plainNode) (any, error) {
	switch n.Kind {
	case Mapping:
		m := map[string]any{}
		for i := 0; i < len(n.Kids); i += 2 {
			v, err := decoded(n.Kids[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Kids[i].Text] = v
		}
		return m, nil
	case List:
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
	for _, pattern := range []string{"testdata/*.*", "../cluster/snapshot/testdata/bad/*.*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				f.Add(string(text))
			}
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
		n, fault := readJSON(text, "cluster")
		valid := json.Valid([]byte(text))
		if fault != nil {
			if valid && !strings.Contains(fault.text, "nested") {
				t.Fatalf("%q is JSON: %s at %d:%d", text, fault.text, fault.position.Line, fault.position.Column)
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
		r := New("c.yaml", clusterFormat)
		var slow Node
		if r.convert(doc, &slow, 0); r.Count() > 0 {
			t.Fatalf("%q: %v", text, r.Err())
		}
		if diff := cmp.Diff(whole(&slow), whole(fast)); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

// fastYAML reads a text with its lists cut out; false where that is not possible.
func fastYAML(text string) (*Node, bool) {
	r := New("c.yaml", clusterFormat)
	n := r.withoutSections(text)
	return n, n != nil
}
