package document

import (
	"encoding/json"
	"fmt"
	"strings"
)

// textReader parses values into nodes with their positions: JSON, or a flow value of YAML on
// one line. It is ten times as fast as the YAML parser.
type textReader struct {
	text         string
	at           int
	counted      int // up to where line and column are counted
	line, column int32
	flow         bool // YAML on one line, in plain ASCII; anything else is an error
	lazy         bool // top-level lists record the offsets of their items only
	nodes        arena
	open         []Node // of the open mappings and lists
}

// jsonError is an error in JSON with its position.
type jsonError struct {
	position Node
	text     string
}

// readJSON reads a document of JSON; what names it in errors.
func readJSON(text, what string) (*Node, *jsonError) {
	j := &textReader{text: text, line: 1, column: 1, lazy: true}
	n, err := j.value(0)
	if err != nil {
		return nil, err
	}
	if j.space(); j.at < len(j.text) {
		if j.text[j.at] == '{' {
			return nil, j.fail("a second document starts here; a file holds one %s", what)
		}
		return nil, j.fail("the %s ended, and more text follows", what)
	}
	return &n, nil
}

func (j *textReader) fail(format string, args ...any) *jsonError {
	e := &jsonError{text: fmt.Sprintf(format, args...)}
	j.position(&e.position)
	return e
}

// position records the current position. Columns count characters.
func (j *textReader) position(n *Node) {
	for ; j.counted < j.at; j.counted++ {
		switch c := j.text[j.counted]; {
		case c == '\n':
			j.line, j.column = j.line+1, 1
		case c&0xc0 != 0x80:
			j.column++
		}
	}
	n.Line, n.Column = j.line, j.column
}

func (j *textReader) space() {
	for j.at < len(j.text) {
		switch c := j.text[j.at]; {
		case c == ' ', !j.flow && (c == '\n' || c == '\t' || c == '\r'):
			j.at++
		default:
			return
		}
	}
}

// next skips space and returns the next byte; 0 at the end.
func (j *textReader) next() byte {
	if j.space(); j.at < len(j.text) {
		return j.text[j.at]
	}
	return 0
}

func (j *textReader) value(depth int) (n Node, err *jsonError) {
	c := j.next()
	j.position(&n)
	switch {
	case depth > deepest:
		return n, j.fail("values are nested more than %d deep", deepest)
	case j.at == len(j.text):
		return n, j.fail("the text ends here: is the file truncated?")
	case c == '{':
		n.Kind = Mapping
		return n, j.members(&n, '}', depth)
	case c == '[' && depth == 1 && j.lazy:
		n.Kind = List
		return n, j.scan(&n)
	case c == '[':
		n.Kind = List
		return n, j.members(&n, ']', depth)
	case c == '"' || c == '\'' && j.flow:
		return n, j.quoted(&n)
	}
	return n, j.bare(&n)
}

// members reads what is between brackets.
func (j *textReader) members(n *Node, end byte, depth int) *jsonError {
	j.at++
	if j.next() == end {
		j.at++
		return nil
	}
	first := len(j.open)
	for {
		if end == '}' {
			key, err := j.key()
			if err != nil {
				return err
			}
			j.open = append(j.open, key)
		}
		value, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		j.open = append(j.open, value)
		if more, err := j.more(end); err != nil {
			return err
		} else if !more {
			n.Kids = j.nodes.keep(j.open[first:])
			j.open = j.open[:first]
			return nil
		}
	}
}

// more reads the comma between members, or the bracket after the last one.
func (j *textReader) more(end byte) (bool, *jsonError) {
	switch j.next() {
	case ',':
		j.at++
		return true, nil
	case end:
		j.at++
		return false, nil
	}
	return false, j.expected("a comma or " + Quote(string(rune(end))))
}

// key reads a key and its colon.
func (j *textReader) key() (key Node, err *jsonError) {
	c := j.next()
	j.position(&key)
	switch {
	case c == '"' || c == '\'' && j.flow:
		err = j.quoted(&key)
	case j.at == len(j.text):
		err = j.fail("the text ends here: is the file truncated?")
	case j.flow:
		err = j.bare(&key)
	default:
		err = j.fail("expected a quoted key, found %s", Quote(string(rune(c))))
	}
	if err != nil {
		return key, err
	}
	if c := j.next(); c != ':' {
		return key, j.expected("a colon after the key " + Quote(key.Text))
	}
	if j.at++; j.flow && (j.at == len(j.text) || j.text[j.at] != ' ') {
		return key, j.expected("a space after the colon")
	}
	return key, nil
}

func (j *textReader) expected(what string) *jsonError {
	if j.at == len(j.text) {
		return j.fail("the text ends here: is the file truncated?")
	}
	return j.fail("%s is missing here", what)
}

func (j *textReader) quoted(n *Node) *jsonError {
	n.Kind, n.Quoted = Scalar, true
	escaped, end := false, j.text[j.at]
	for i := j.at + 1; i < len(j.text); i++ {
		switch c := j.text[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			j.at = i
			return j.fail("a line break or control character inside of quotes")
		case c == end:
			if n.Text = j.text[j.at+1 : i]; escaped {
				var ok bool
				if n.Text, ok = unescaped(j.text[j.at : i+1]); !ok {
					return j.fail("an escape that JSON does not have")
				}
			}
			if j.flow && (escaped || !printable(n.Text) || i+1 < len(j.text) && j.text[i+1] == end) {
				return j.fail("more than is read on one line")
			}
			j.at = i + 1
			return nil
		}
	}
	return j.fail("this quote is not closed: is the file truncated?")
}

// unescaped is the value of a quoted text.
func unescaped(quoted string) (text string, ok bool) {
	err := json.Unmarshal([]byte(quoted), &text)
	return text, err == nil
}

// bare parses a number, true, false or null, and in YAML a word.
func (j *textReader) bare(n *Node) *jsonError {
	start := j.at
	end := start
	for end < len(j.text) && strings.IndexByte(" \t\r\n,:[]{}\"", j.text[end]) < 0 {
		end++
	}
	n.Text = j.text[start:end]
	valid := j.flow && plainWord(n.Text) || !j.flow && (isNumber(n.Text) || n.Text == "true" || n.Text == "false" || n.Text == "null")
	if !valid {
		if end == len(j.text) {
			return j.fail("the text ends here: is the file truncated?")
		}
		return j.fail("%s is not a value: put text in quotes", Quote(n.Text))
	}
	if n.Text == "null" {
		n.Text = ""
	}
	j.at = end
	return nil
}

// isNumber reports whether a text is a number of JSON (RFC 8259, section 6).
func isNumber(text string) bool {
	rest := strings.TrimPrefix(text, "-")
	digits := func() (n int) {
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		rest = rest[n:]
		return n
	}
	zero := strings.HasPrefix(rest, "0")
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		if rest = rest[1:]; digits() == 0 {
			return false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		if rest = rest[1:]; rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return rest == ""
}

// plainWord reports whether YAML parses a text as a plain scalar, apart from its first and
// last characters.
func plainWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '/' && c != '%' && c != '-' && c != '+') {
			return false
		}
	}
	return text != ""
}

// printable reports whether all of a text is printable ASCII.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
