package snapshot

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

// mostBytes is the largest file that is read: some fifteen times what 2,000 hosts and
// 25,000 machines need.
const mostBytes = 256 << 20

// document reads the text as one document that holds a mapping, or complains and returns
// nil.
func (r *reader) document(data []byte) *node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	start := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(data) > mostBytes:
		r.complain(nil, "the file has %d bytes: a cluster has at most %d", len(data), mostBytes)
		return nil
	case len(start) == 0:
		r.complain(nil, "the file is empty; plimsoll cluster generate writes a cluster to start from")
		return nil
	case !utf8.Valid(data):
		r.complain(invalidAt(data), "this is not UTF-8 text")
		return nil
	}
	var root *node
	var fault *jsonError
	named := strings.HasSuffix(strings.ToLower(r.file), ".json")
	if named || start[0] == '{' {
		root, fault = readJSON(string(data))
	}
	if root == nil && named {
		r.complain(&fault.place, "this is not JSON: %s", fault.text)
		return nil
	}
	if root == nil {
		if root = r.yaml(data, fault); root == nil {
			return nil
		}
	}
	if root.kind != mapping {
		r.complain(root, "a cluster is a mapping of keys, such as \"hosts: [...]\", not %s", root.says())
		return nil
	}
	return root
}

// yaml reads the text as YAML. What looked like JSON is reported as such when it is
// neither.
func (r *reader) yaml(data []byte, fault *jsonError) *node {
	if root := r.withoutSections(string(data)); root != nil {
		return root
	}
	doc, more, err := oneDocument(data)
	switch {
	case more != nil:
		r.complain(&node{line: int32(more.Line), column: int32(more.Column)}, "a second document starts here; a file holds one cluster")
	case errors.Is(err, io.EOF):
		r.complain(nil, "the file is empty; plimsoll cluster generate writes a cluster to start from")
	case err == nil:
		before := len(r.mistakes)
		var root node
		if r.convert(doc, &root, 0); len(r.mistakes) == before {
			return &root
		}
	case fault != nil && strings.Contains(string(data[:min(len(data), 100)]), `"`):
		r.complain(&fault.place, "this is not JSON: %s", fault.text)
	default:
		r.syntax(data, err)
	}
	return nil
}

// withoutSections reads YAML of which only what is outside of its sections goes through
// the parser; nil where that is not all the same, and nothing is complained about then.
func (r *reader) withoutSections(text string) *node {
	list, rest := sections(text)
	if len(list) == 0 {
		return nil
	}
	doc, _, err := oneDocument([]byte(rest))
	if err != nil {
		return nil
	}
	before := len(r.mistakes)
	var root node
	if r.convert(doc, &root, 0); len(r.mistakes) == before && attach(&root, list) {
		return &root
	}
	r.forget(before)
	return nil
}

// oneDocument parses YAML. It returns the beginning of a second document where there is
// one, and io.EOF where there is none.
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

// decode guards against a parser that gives up by panicking.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", p)
		}
	}()
	return d.Decode(into)
}

// convert takes nodes over. Aliases, anchors and tags are refused: an alias can grow
// without bound, and templates do what they are used for.
func (r *reader) convert(from *yaml.Node, to *node, depth int) {
	to.line, to.column = int32(from.Line), int32(from.Column)
	switch {
	case depth > deepest:
		r.complain(to, "values are nested more than %d deep", deepest)
		return
	case from.Kind == yaml.AliasNode:
		r.complain(to, "the alias *%s: a cluster has no aliases; templates say a thing once", from.Value)
		return
	case from.Anchor != "":
		r.complain(to, "the anchor &%s: a cluster has no anchors; templates say a thing once", from.Anchor)
	case from.Style&yaml.TaggedStyle != 0:
		r.complain(to, "the tag %s: a cluster has no tags", from.Tag)
	}
	switch from.Kind {
	case yaml.MappingNode:
		to.kind = mapping
	case yaml.SequenceNode:
		to.kind = list
	default:
		to.text, to.quoted = from.Value, from.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
		if !to.quoted && (to.text == "null" || to.text == "~") {
			to.text = ""
		}
		return
	}
	to.kids = make([]node, len(from.Content))
	for i, c := range from.Content {
		r.convert(c, &to.kids[i], depth+1)
	}
}

func invalidAt(data []byte) *node {
	n := &node{line: 1, column: 1}
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if n.column++; c == '\n' {
			n.line, n.column = n.line+1, 1
		}
		data = data[size:]
	}
	return n
}

var syntaxMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax complains about text that is no YAML. The parser names a line only.
func (r *reader) syntax(data []byte, err error) {
	text, line := err.Error(), 1
	if m := syntaxMessage.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = max(1, n)
		}
	}
	if open := unclosed(data); open != nil {
		r.complain(open, "what opens here is never closed: is the file cut off?")
		return
	}
	r.complain(&node{line: int32(line), column: 1}, "this is not YAML: %s", text)
}
