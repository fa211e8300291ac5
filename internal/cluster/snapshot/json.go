package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"
)

// jsonReader reads JSON into nodes with their places. It is there because a large
// cluster is read ten times as fast as by way of YAML, of which JSON is a part.
type jsonReader struct {
	data         []byte
	text         string // the same
	at           int
	counted      int // up to where line and column are counted
	line, column int32
}

// jsonError is where text stops to be JSON.
type jsonError struct {
	place node
	text  string
}

func (e *jsonError) Error() string { return e.text }

func readJSON(data []byte) (*node, *jsonError) {
	j := &jsonReader{data: data, text: string(data), line: 1, column: 1}
	var n node
	if err := j.value(&n, 0); err != nil {
		return nil, err
	}
	if j.space(); j.at < len(j.data) {
		if j.data[j.at] == '{' {
			return nil, j.fail("a second document starts here; a file holds one cluster")
		}
		return nil, j.fail("the cluster ended, and more text follows")
	}
	return &n, nil
}

func (j *jsonReader) fail(format string, args ...any) *jsonError {
	e := &jsonError{text: fmt.Sprintf(format, args...)}
	j.place(&e.place)
	return e
}

// place notes where the reader is. Columns count characters.
func (j *jsonReader) place(n *node) {
	for ; j.counted < j.at; j.counted++ {
		switch c := j.data[j.counted]; {
		case c == '\n':
			j.line, j.column = j.line+1, 1
		case c&0xc0 != 0x80:
			j.column++
		}
	}
	n.line, n.column = j.line, j.column
}

func (j *jsonReader) space() {
	for j.at < len(j.data) && strings.IndexByte(" \t\r\n", j.data[j.at]) >= 0 {
		j.at++
	}
}

// next skips space and says which byte comes, 0 at the end.
func (j *jsonReader) next() byte {
	if j.space(); j.at < len(j.data) {
		return j.data[j.at]
	}
	return 0
}

func (j *jsonReader) value(n *node, depth int) *jsonError {
	c := j.next()
	j.place(n)
	switch {
	case depth > deepest:
		return j.fail("values are nested more than %d deep", deepest)
	case j.at == len(j.data):
		return j.fail("the text ends here: is the file cut off?")
	case c == '{':
		n.kind = mapping
		return j.members(n, '}', depth)
	case c == '[':
		n.kind = list
		return j.members(n, ']', depth)
	case c == '"':
		return j.quoted(n)
	}
	return j.bare(n)
}

// members reads what is between brackets.
func (j *jsonReader) members(n *node, end byte, depth int) *jsonError {
	j.at++
	if j.next() == end {
		j.at++
		return nil
	}
	for {
		if end == '}' {
			if c := j.next(); c != '"' {
				if j.at == len(j.data) {
					return j.fail("the text ends here: is the file cut off?")
				}
				return j.fail("a key in quotes comes here, not %s", quote(string(rune(c))))
			}
			var key node
			j.place(&key)
			if err := j.quoted(&key); err != nil {
				return err
			}
			if c := j.next(); c != ':' {
				return j.expected("a colon after the key " + quote(key.text))
			}
			j.at++
			n.kids = append(n.kids, key)
		}
		n.kids = append(n.kids, node{})
		if err := j.value(&n.kids[len(n.kids)-1], depth+1); err != nil {
			return err
		}
		switch j.next() {
		case ',':
			j.at++
		case end:
			j.at++
			return nil
		default:
			return j.expected("a comma or " + quote(string(rune(end))))
		}
	}
}

func (j *jsonReader) expected(what string) *jsonError {
	if j.at == len(j.data) {
		return j.fail("the text ends here: is the file cut off?")
	}
	return j.fail("%s is missing here", what)
}

func (j *jsonReader) quoted(n *node) *jsonError {
	n.kind, n.quoted = scalar, true
	escaped := false
	for i := j.at + 1; i < len(j.data); i++ {
		switch c := j.data[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			j.at = i
			return j.fail("a line break or control character inside of quotes")
		case c == '"':
			if !escaped {
				n.text = j.text[j.at+1 : i]
			} else if err := json.Unmarshal(j.data[j.at:i+1], &n.text); err != nil {
				return j.fail("an escape that JSON does not have")
			}
			j.at = i + 1
			return nil
		}
	}
	return j.fail("a quote opens here and is never closed: is the file cut off?")
}

// bare reads a number, true, false or null.
func (j *jsonReader) bare(n *node) *jsonError {
	start := j.at
	end := start
	for end < len(j.data) && strings.IndexByte(" \t\r\n,:[]{}\"", j.data[end]) < 0 {
		end++
	}
	if !json.Valid(j.data[start:end]) {
		if end == len(j.data) {
			return j.fail("the text ends here: is the file cut off?")
		}
		return j.fail("%s is no value: a text stands in quotes", quote(j.text[start:end]))
	}
	if n.text = j.text[start:end]; n.text == "null" {
		n.text = ""
	}
	j.at = end
	return nil
}
