package check

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
	strict "plimsoll/internal/document"
	"plimsoll/internal/pattern"
)

// entry is a claim of the YAML format, by its keys. Each value is a number with its unit.
type entry struct {
	texts    map[string]string
	lists    map[string][]string // "parts", "weights"
	measured map[string]string   // by size
}

// forms are the keys of the kinds of claims: the first of each identifies it, and those after
// the bar are optional.
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

var listForm = pattern.Of(`(?m)\A(?:\s*(?:#.*)?\n)*claims:`)

// Read audits a file: a YAML list of claims, else text. Errors name the file and, if known,
// the line.
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
	case ext == ".yaml" || ext == ".yml" || listForm().Match(data):
		return readList(name, data)
	}
	return Text(string(data)), nil
}

// listFormat is that of lists of claims.
var listFormat = strict.Format{What: "list of claims", Most: 16 << 20, Example: "claims: [...]", Begin: "see plimsoll audit --help", Alias: "write the value out"}

// readList audits a YAML list of claims.
func readList(name string, data []byte) ([]claim.Claim, error) {
	f := strict.New(name, listFormat)
	root := f.Read(data)
	if root == nil || f.Count() > 0 {
		return nil, f.Err()
	}
	list := root.Find("claims")
	switch {
	case list == nil || len(root.Kids) != 2:
		f.Complain(root, "a list of claims is a mapping with the one key \"claims\"")
		return nil, f.Err()
	case list.Kind != strict.List || len(list.Kids) == 0:
		f.Complain(list, "claims: at least one claim, each after a hyphen")
	}
	a := &auditor{doc: &document.Document{Locale: number.LocaleOf(string(data))}}
	for i := range list.Kids {
		readEntry(a, f, &list.Kids[i])
	}
	return a.claims, f.Err()
}

// readEntry audits one claim of a list.
func readEntry(a *auditor, f *strict.File, n *strict.Node) {
	if n.Kind != strict.Mapping {
		f.Complain(n, "a claim must be a mapping, such as \"says: over 10 %%\" with before and after")
		return
	}
	var known, keys, words []string
	for _, form := range forms {
		known = append(append(known, form.keys...), form.free...)
	}
	before := f.Count()
	e := &entry{texts: map[string]string{}, lists: map[string][]string{}, measured: map[string]string{}}
	for i := 0; i+1 < len(n.Kids); i += 2 {
		k, v := &n.Kids[i], &n.Kids[i+1]
		switch {
		case !slices.Contains(known, k.Text):
			f.Unknown(k, "unknown key", k.Text, known)
		case slices.Contains(keys, k.Text):
			f.Complain(k, "duplicate key %q", k.Text)
		default:
			e.read(f, k.Text, v)
		}
		keys, words = append(keys, k.Text), append(words, k.Text+": "+oneLine(v))
	}
	if f.Count() > before {
		return
	}
	a.line, a.text = max(1, int(n.Line)), strings.Join(words, ", ")
	for _, form := range forms {
		lacks := func(k string) bool { return !slices.Contains(keys, k) }
		odd := func(k string) bool { return !slices.Contains(form.keys, k) && !slices.Contains(form.free, k) }
		if slices.ContainsFunc(form.keys, lacks) || slices.ContainsFunc(keys, odd) {
			continue
		}
		if err := form.audit(a, e); err != nil {
			f.Complain(n, "%v", err)
		}
		return
	}
	f.Complain(n, "the keys %s are not a claim; see plimsoll audit --help", strings.Join(keys, ", "))
}

// read reads the value of a key.
func (e *entry) read(f *strict.File, key string, n *strict.Node) {
	want := strict.Scalar
	switch key {
	case "parts", "weights":
		want = strict.List
	case "measured":
		want = strict.Mapping
	}
	if n.Kind != want || slices.ContainsFunc(n.Kids, func(k strict.Node) bool { return k.Kind != strict.Scalar }) {
		f.Complain(n, "%s: %s is not allowed here", key, oneLine(n))
		return
	}
	if want == strict.List {
		e.lists[key] = []string{}
	}
	for i, k := range n.Kids {
		if want == strict.List {
			e.lists[key] = append(e.lists[key], k.Text)
		} else if i%2 == 1 {
			e.measured[n.Kids[i-1].Text] = k.Text
		}
	}
	e.texts[key] = n.Text
}

func oneLine(n *strict.Node) string {
	if n.Kind == strict.Scalar {
		return n.Text
	}
	var all []string
	for i := range n.Kids {
		all = append(all, oneLine(&n.Kids[i]))
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

// value reads the number of a key.
func (e *entry) value(a *auditor, key string) (*number.Quantity, error) {
	return value(a, key, e.texts[key])
}

func (e *entry) values(a *auditor, keys ...string) ([]*number.Quantity, error) {
	var all []*number.Quantity
	for _, key := range keys {
		q, err := e.value(a, key)
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

func entryText(a *auditor, e *entry) error {
	line := a.line
	for _, c := range Text(e.texts["text"]) {
		c.Line += line - 1
		a.claims = append(a.claims, c)
	}
	return nil
}

func entryLoop(a *auditor, e *entry) error {
	q, err := e.values(a, "in flight", "rate", "mean latency")
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
