package study

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

// mostBytes is the largest study that is read. The longest sensible one is a
// hundredth of it.
const mostBytes = 1 << 20

// document reads the text as one YAML document that holds a mapping, or
// complains and returns nil. Aliases, anchors and tags are refused: they make a
// file hard to read, and an alias can grow without bound.
func (r *reader) document(data []byte) *yaml.Node {
	switch {
	case len(data) > mostBytes:
		r.complain(at(1, 1), "the file has %d bytes: a study has at most %d", len(data), mostBytes)
		return nil
	case !utf8.Valid(data):
		r.complain(firstInvalid(data), "this is not UTF-8 text")
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := decode(d, &doc)
	if errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || isEmpty(doc.Content[0])) {
		r.complain(at(1, 1), "the file is empty; plimsoll new WORKLOAD writes a study to start from")
		return nil
	}
	if err == nil {
		if err = decode(d, &more); err == nil {
			r.complain(at(max(1, more.Line), max(1, more.Column)), "a second document starts here; a file holds one study")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		r.syntax(data, err)
		return nil
	}
	root := doc.Content[0]
	r.refuseIndirection(root)
	if root.Kind != yaml.MappingNode {
		r.complain(root, "a study is a mapping of keys, such as \"study: NAME\", not %s", kindName(root))
		return nil
	}
	return root
}

// decode guards against a parser that gives up by panicking.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", p)
		}
	}()
	return d.Decode(into)
}

func at(line, column int) *yaml.Node { return &yaml.Node{Line: line, Column: column} }

func firstInvalid(data []byte) *yaml.Node {
	line, column := 1, 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if column++; c == '\n' {
			line, column = line+1, 1
		}
		data = data[size:]
	}
	return at(line, column)
}

var syntaxMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax complains about text that is no YAML. The parser names a line only.
func (r *reader) syntax(data []byte, err error) {
	text := err.Error()
	line := 1
	if m := syntaxMessage.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = max(1, n)
		}
	}
	if strings.Contains(text, "cannot start any token") || strings.Contains(text, "tab character") {
		if tab := indentingTab(data); tab != nil {
			r.complain(tab, "a tab cannot indent: use spaces")
			return
		}
	}
	r.complain(at(line, 1), "this is not YAML: %s", text)
}

// indentingTab finds the first line that a tab indents.
func indentingTab(data []byte) *yaml.Node {
	for i, line := range bytes.Split(data, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if j := bytes.IndexByte(indent, '\t'); j >= 0 {
			return at(i+1, j+1)
		}
	}
	return nil
}

func (r *reader) refuseIndirection(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.complain(n, "the alias *%s: aliases are not used in a study; write the value out", n.Value)
		return
	case n.Anchor != "":
		r.complain(n, "the anchor &%s: anchors are not used in a study", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.complain(n, "the tag %s: tags are not used in a study", n.Tag)
	}
	for _, c := range n.Content {
		r.refuseIndirection(c)
	}
}
