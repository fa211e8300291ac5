package trend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/collect"
	"plimsoll/internal/lab"
	"plimsoll/internal/study"
)

// identityOf are the facts that make runs comparable, in order: what determines the trials of the study, and what decides the speed of
// the testbed.
func identityOf(s *study.Study, bed collect.TestbedRecord) ([]Fact, error) {
	facts, err := settingsOf(s)
	if err != nil {
		return nil, err
	}
	for _, f := range bed.Deciding() {
		facts = append(facts, Fact{f.Name, f.Value})
	}
	return facts, nil
}

// digestOf is a short name of facts.
func digestOf(facts []Fact) string {
	sum := sha256.New()
	for _, f := range facts {
		fmt.Fprintf(sum, "%q=%q\n", f.Name, f.Value)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// settingsOf are the settings of a study as facts, without those that no trial depends on: its seed, its words, and what is done with
// its results.
func settingsOf(s *study.Study) ([]Fact, error) {
	bare := *s
	bare.Question, bare.Seed, bare.Sets, bare.Published, bare.Limits, bare.Goal, bare.Tune = "", nil, nil, nil, nil, nil, nil
	text, err := json.Marshal(lab.ViewOf(&bare))
	if err != nil {
		return nil, fmt.Errorf("encode study %s: %w", s.Name, err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode study %s: %w", s.Name, err)
	}
	return leaves("study", tree, nil), nil
}

// leaves appends the values of a tree with their paths. A list of plain values is one of them.
func leaves(path string, tree any, facts []Fact) []Fact {
	switch tree := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			facts = leaves(path+"."+key, tree[key], facts)
		}
	case []any:
		words := make([]string, len(tree))
		for i, element := range tree {
			switch element.(type) {
			case map[string]any, []any:
				for i, element := range tree {
					facts = leaves(path+"."+strconv.Itoa(i+1), element, facts)
				}
				return facts
			}
			words[i] = fmt.Sprint(element)
		}
		facts = append(facts, Fact{path, strings.Join(words, ", ")})
	case nil:
	case string:
		if tree != "" {
			facts = append(facts, Fact{path, tree})
		}
	default:
		facts = append(facts, Fact{path, fmt.Sprint(tree)})
	}
	return facts
}

// differences are the facts in which two lists differ, in the order of the second, then those that only the first has.
func differences(from, to []Fact) []Difference {
	var out []Difference
	before := map[string]string{}
	for _, f := range from {
		before[f.Name] = f.Value
	}
	for _, f := range to {
		if was, had := before[f.Name]; was != f.Value || !had {
			out = append(out, Difference{f.Name, was, f.Value})
		}
		delete(before, f.Name)
	}
	for _, f := range from {
		if value, left := before[f.Name]; left {
			out = append(out, Difference{f.Name, value, ""})
		}
	}
	return out
}
