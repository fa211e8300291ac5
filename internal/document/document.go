// Package document reads YAML and JSON strictly: all mistakes of a file at once, each with its position and, for an
// unknown name, the nearest known one.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Format describes a kind of file, for error messages.
type Format struct {
	What    string // that a file holds: "cluster"
	Most    int    // bytes of a file
	Example string // of a key: "hosts: [...]"
	Begin   string // command that creates an initial file
	Alias   string // what to write in position of an alias
	JSON    bool   // fast parser for JSON, and for YAML with one item per line; null is not allowed
}

// File is a file being parsed, with its mistakes.
type File struct {
	Name      string
	of        Format
	mistakes  []Mistake
	seen      map[Mistake]struct{}
	suggested int
	elsewhere []string // sources of values that are not from the file
}

// New starts parsing a file. JSON is detected by the extension.
func New(name string, of Format) *File {
	return &File{Name: OneLine(name), of: of, seen: map[Mistake]struct{}{}}
}

// Anew starts parsing another text with the same name and format.
func (f *File) Anew() *File { return New(f.Name, f.of) }

// Read parses the text as one document with a mapping, or adds a mistake and returns nil.
func (f *File) Read(data []byte) *Node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	start := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(data) > f.of.Most:
		f.Complain(nil, "the file has %d bytes: a %s has at most %d", len(data), f.of.What, f.of.Most)
		return nil
	case len(start) == 0:
		f.Complain(nil, "the file is empty; %s", f.of.Begin)
		return nil
	case !utf8.Valid(data):
		f.Complain(invalidAt(data), "this is not UTF-8 text")
		return nil
	}
	var root *Node
	var fault *jsonError
	named := f.of.JSON && strings.HasSuffix(strings.ToLower(f.Name), ".json")
	if named || f.of.JSON && start[0] == '{' {
		root, fault = readJSON(string(data), f.of.What)
	}
	if root == nil && named {
		f.Complain(&fault.position, "this is not JSON: %s", fault.text)
		return nil
	}
	if root == nil {
		if root = f.yaml(data, fault); root == nil {
			return nil
		}
	}
	if root.Kind != Mapping {
		f.Complain(root, "a %s is a mapping of keys, such as %q, not %s", f.of.What, f.of.Example, root.Says())
		return nil
	}
	return root
}

// yaml reads the text as YAML. What looked like JSON is reported as such when it is
// neither.
func (f *File) yaml(data []byte, fault *jsonError) *Node {
	if f.of.JSON {
		if root := f.withoutSections(string(data)); root != nil {
			return root
		}
	}
	doc, more, err := oneDocument(data)
	switch {
	case more != nil:
		f.Complain(&Node{Line: int32(more.Line), Column: int32(more.Column)}, "a second document starts here; a file holds one %s", f.of.What)
	case errors.Is(err, io.EOF):
		f.Complain(nil, "the file is empty; %s", f.of.Begin)
	case err == nil:
		before := len(f.mistakes)
		var root Node
		if f.convert(doc, &root, 0); f.of.JSON && len(f.mistakes) > before {
			return nil
		}
		return &root
	case fault != nil && strings.Contains(string(data[:min(len(data), 100)]), `"`):
		f.Complain(&fault.position, "this is not JSON: %s", fault.text)
	default:
		f.syntax(data, err)
	}
	return nil
}

// withoutSections parses YAML except its sections, which are left out; nil, without mistakes,
// if that could change the meaning.
func (f *File) withoutSections(text string) *Node {
	list, rest := sections(text)
	if len(list) == 0 {
		return nil
	}
	doc, _, err := oneDocument([]byte(rest))
	if err != nil {
		return nil
	}
	before := len(f.mistakes)
	var root Node
	if f.convert(doc, &root, 0); len(f.mistakes) == before && attach(&root, list) {
		return &root
	}
	f.forget(before)
	return nil
}

// oneDocument parses YAML. It returns the beginning of a second document where there is
// one, and io.EOF if there is none.
func oneDocument(data []byte) (root, more *yaml.Node, err error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := decode(d, &doc); err != nil {
		return nil, nil, err
	}
	switch err := decode(d, &second); {
	case err == nil:
		return nil, &second, errSecond
	case !errors.Is(err, io.EOF):
		return nil, nil, err
	case len(doc.Content) == 0:
		return nil, nil, io.EOF
	}
	return doc.Content[0], nil, nil
}

var errSecond = errors.New("a second document")

// decode recovers from a panic of the parser.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser failed: %v", p)
		}
	}()
	return d.Decode(into)
}

// convert converts nodes. Aliases, anchors and tags are rejected: they make a file hard to
// read, and an alias can expand without bound.
func (f *File) convert(from *yaml.Node, to *Node, depth int) {
	to.Line, to.Column = int32(from.Line), int32(from.Column)
	switch {
	case depth > deepest:
		f.Complain(to, "values are nested more than %d deep", deepest)
		return
	case from.Kind == yaml.AliasNode:
		f.Complain(to, "the alias *%s: a %s has no aliases; %s", from.Value, f.of.What, f.of.Alias)
		to.Refused = true
		return
	case from.Anchor != "":
		f.Complain(to, "the anchor &%s: a %s has no anchors; %s", from.Anchor, f.of.What, f.of.Alias)
	case from.Style&yaml.TaggedStyle != 0:
		f.Complain(to, "the tag %s: a %s has no tags", from.Tag, f.of.What)
	}
	switch from.Kind {
	case yaml.MappingNode:
		to.Kind = Mapping
	case yaml.SequenceNode:
		to.Kind = List
	default:
		to.Text, to.Quoted = from.Value, from.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
		if f.of.JSON && !to.Quoted && (to.Text == "null" || to.Text == "~") {
			to.Text = ""
		}
		return
	}
	to.Kids = make([]Node, len(from.Content))
	for i, c := range from.Content {
		f.convert(c, &to.Kids[i], depth+1)
	}
}

func invalidAt(data []byte) *Node {
	n := &Node{Line: 1, Column: 1}
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if n.Column++; c == '\n' {
			n.Line, n.Column = n.Line+1, 1
		}
		data = data[size:]
	}
	return n
}

var syntaxMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax adds a mistake for invalid YAML. The parser reports the line only.
func (f *File) syntax(data []byte, err error) {
	text, line := err.Error(), 1
	if m := syntaxMessage.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = max(1, n)
		}
	}
	if strings.Contains(text, "cannot start any token") || strings.Contains(text, "tab character") {
		if tab := indentingTab(data); tab != nil {
			f.Complain(tab, "a tab cannot indent: use spaces")
			return
		}
	}
	if open := unclosed(data); open != nil {
		f.Complain(open, "this bracket or quote is not closed: is the file truncated?")
		return
	}
	f.Complain(&Node{Line: int32(line), Column: 1}, "this is not YAML: %s", text)
}

// indentingTab finds the first line indented by a tab.
func indentingTab(data []byte) *Node {
	for i, line := range bytes.Split(data, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if j := bytes.IndexByte(indent, '\t'); j >= 0 {
			return &Node{Line: int32(i + 1), Column: int32(j + 1)}
		}
	}
	return nil
}
