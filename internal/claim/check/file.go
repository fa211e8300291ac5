package check

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
)

// entry is a claim of the YAML format. Each value is a number with its unit, as in a
// text.
type entry struct {
	Text string `yaml:"text"` // a plain sentence

	Says   string `yaml:"says"` // the change as stated: "over 10 %", "3x faster", "5 points"
	Of     string `yaml:"of"`   // the metric
	Better string `yaml:"better"`
	Before string `yaml:"before"`
	After  string `yaml:"after"`
	Base   string `yaml:"base"` // of a further change: the value that the first started from

	LoadBefore string `yaml:"load before"`
	LoadAfter  string `yaml:"load after"`

	InFlight string `yaml:"in flight"`
	Rate     string `yaml:"rate"`
	Mean     string `yaml:"mean latency"`

	Total   string   `yaml:"total"`
	Average string   `yaml:"average"`
	Parts   []string `yaml:"parts"`
	Weights []string `yaml:"weights"`

	Measured map[string]string `yaml:"measured"` // by size
	At       string            `yaml:"at"`

	Failures   string `yaml:"failures"`
	Operations string `yaml:"operations"`
	Bound      string `yaml:"bound"`

	Change string `yaml:"change"`
	Margin string `yaml:"margin"`
	Runs   string `yaml:"runs"`
}

// forms are the keys of the kinds of claims: the first of each names it, and those
// after the bar may be left out.
var forms = []struct {
	keys  []string
	free  []string
	audit func(a *auditor, e *entry) error
}{
	{[]string{"text"}, nil, entryText},
	{[]string{"says", "measured", "at"}, nil, entryExtrapolation},
	{[]string{"says", "before", "after"}, []string{"of", "better", "base", "load before", "load after"}, entryChange},
	{[]string{"before", "after", "load before", "load after"}, []string{"of"}, entryChange},
	{[]string{"in flight", "rate", "mean latency"}, nil, entryLoop},
	{[]string{"total", "parts"}, nil, entryTotal},
	{[]string{"average", "parts"}, []string{"weights"}, entryAverage},
	{[]string{"failures", "operations"}, []string{"bound"}, entryFailures},
	{[]string{"change"}, []string{"margin", "runs"}, entryMargin},
}

var listForm = regexp.MustCompile(`(?m)\A(?:\s*(?:#.*)?\n)*claims:`)

// Read audits a file: a YAML list of claims, else text. Its errors name the file, and
// the line where there is one.
func Read(name string, data []byte) ([]claim.Claim, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	ext := strings.ToLower(filepath.Ext(name))
	start := strings.ToLower(number.Cut(strings.TrimSpace(string(data[:min(len(data), 64)])), 20))
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return nil, fmt.Errorf("%s is a PDF document: convert it to text first, for example with pdftotext -layout", name)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not UTF-8 text: convert it first, for example with iconv -f UTF-16 -t UTF-8", name)
	case strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html"):
		return nil, fmt.Errorf("%s is an HTML page: convert it to text or Markdown first, for example with pandoc -t gfm", name)
	case ext == ".yaml" || ext == ".yml" || listForm.Match(data):
		return readList(name, data)
	}
	return Text(string(data)), nil
}

// readList audits a YAML list of claims.
func readList(name string, data []byte) (claims []claim.Claim, err error) {
	defer func() {
		if p := recover(); p != nil {
			claims, err = nil, fmt.Errorf("%s: the YAML parser failed: %v", name, p)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	fail := func(n *yaml.Node, format string, args ...any) ([]claim.Claim, error) {
		return nil, fmt.Errorf("%s:%d:%d: "+format, append([]any{name, n.Line, n.Column}, args...)...)
	}
	if n := indirect(&doc); n != nil {
		return fail(n, "aliases and anchors are not used in a list of claims")
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode || len(doc.Content[0].Content) != 2 || doc.Content[0].Content[0].Value != "claims" {
		return nil, fmt.Errorf("%s: a list of claims is a mapping with the one key \"claims\"", name)
	}
	list := doc.Content[0].Content[1]
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return fail(list, "claims: at least one claim, each after a hyphen")
	}
	a := &auditor{doc: &document.Document{Locale: number.LocaleOf(string(data))}}
	for _, n := range list.Content {
		if err := readEntry(a, n); err != nil {
			return fail(n, "%w", err)
		}
	}
	return a.claims, nil
}

// indirect is the first node that is an alias or has an anchor.
func indirect(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if found := indirect(c); found != nil {
			return found
		}
	}
	return nil
}

// readEntry audits one claim of a list.
func readEntry(a *auditor, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("a claim is a mapping, such as \"says: over 10 %\" with before and after")
	}
	var keys, words []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
		words = append(words, n.Content[i].Value+": "+oneLine(n.Content[i+1]))
	}
	var known []string
	for _, f := range forms {
		known = append(append(known, f.keys...), f.free...)
	}
	for _, k := range keys {
		if !slices.Contains(known, k) {
			return fmt.Errorf("unknown key %q", k)
		}
	}
	var e entry
	if err := n.Decode(&e); err != nil {
		return errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: "))
	}
	a.line, a.text = n.Line, strings.Join(words, ", ")
	for _, f := range forms {
		fitting := true
		for _, k := range f.keys {
			fitting = fitting && slices.Contains(keys, k)
		}
		for _, k := range keys {
			fitting = fitting && (slices.Contains(f.keys, k) || slices.Contains(f.free, k))
		}
		if fitting {
			return f.audit(a, &e)
		}
	}
	return fmt.Errorf("the keys %s are not a claim; see plimsoll audit --help", strings.Join(keys, ", "))
}

func oneLine(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var all []string
	for i := range n.Content {
		all = append(all, oneLine(n.Content[i]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// value reads a number with its unit.
func value(a *auditor, key, text string) (*number.Quantity, error) {
	tokens := a.doc.Locale.Lex(text)
	if len(tokens) == 0 || tokens[0].Num == nil {
		return nil, fmt.Errorf("%s: %q is not a number with its unit", key, text)
	}
	return tokens[0].Num, nil
}

func values(a *auditor, pairs ...string) ([]*number.Quantity, error) {
	var all []*number.Quantity
	for i := 0; i+1 < len(pairs); i += 2 {
		q, err := value(a, pairs[i], pairs[i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

func entryText(a *auditor, e *entry) error {
	line := a.line
	for _, c := range Text(e.Text) {
		c.Line += line - 1
		a.claims = append(a.claims, c)
	}
	return nil
}

func entryLoop(a *auditor, e *entry) error {
	q, err := values(a, "in flight", e.InFlight, "rate", e.Rate, "mean latency", e.Mean)
	if err != nil {
		return err
	}
	if q[1].Unit.Dim != number.DimRate && q[1].Unit.Dim != "" || q[2].Unit.Dim != number.DimTime {
		return errors.New("rate is a number per second, and mean latency a time")
	}
	s := &grammar.Sentence{Near: "closed loop"}
	a.add(little(s, q[0], q[1], q[2]))
	return nil
}
