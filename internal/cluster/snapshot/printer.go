package snapshot

import (
	"bufio"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// printer writes one file as YAML or JSON. The two differ in quotes and separators.
type printer struct {
	w     *bufio.Writer
	json  bool
	later bool // a key was written
}

func (p *printer) key(key string) {
	if !p.json {
		p.w.WriteString(key + ":")
		return
	}
	if p.later {
		p.w.WriteString(",")
	}
	p.later = true
	p.w.WriteString("\n\"" + key + "\":")
}

func (p *printer) single(key, value string) {
	p.key(key)
	p.w.WriteString(" " + value)
	if !p.json {
		p.w.WriteString("\n")
	}
}

// section writes a list, one item per line; nothing for an empty list.
func (p *printer) section(key string, n int, item func(int) string) {
	if n == 0 {
		return
	}
	p.key(key)
	open, between := "\n  - ", ""
	if p.json {
		p.w.WriteString(" [")
		open, between = "\n  ", ","
	}
	for i := range n {
		if i > 0 {
			p.w.WriteString(between)
		}
		p.w.WriteString(open + item(i))
	}
	if p.json {
		p.w.WriteString("\n]")
	} else {
		p.w.WriteString("\n")
	}
}

// plain matches text that YAML reads as a string.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/%-]*$`)

// words are read as booleans or null by some YAML parsers.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func (p *printer) scalar(text string) string {
	if !p.json && plain.MatchString(text) && (!slices.Contains(words, strings.ToLower(text)) || text == "on" || text == "off") {
		return text
	}
	quoted, _ := json.Marshal(text) // any text can be marshalled
	return string(quoted)
}

func (p *printer) texts(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = p.scalar(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// line is a mapping that is written on one line.
type line struct {
	p   *printer
	buf []byte
}

func (p *printer) line() *line { return &line{p, []byte{'{'}} }

func (l *line) raw(key, value string) *line {
	if len(l.buf) > 1 {
		l.buf = append(l.buf, ", "...)
	}
	if l.p.json {
		l.buf = append(append(append(l.buf, '"'), key...), `": `...)
	} else {
		l.buf = append(append(l.buf, key...), ": "...)
	}
	l.buf = append(l.buf, value...)
	return l
}

func (l *line) text(key, value string) *line    { return l.raw(key, l.p.scalar(value)) }
func (l *line) number(key string, n int) *line  { return l.raw(key, strconv.Itoa(n)) }
func (l *line) flag(key string, yes bool) *line { return l.raw(key, strconv.FormatBool(yes)) }
func (l *line) list(key string, names []string) { l.raw(key, l.p.texts(names)) }
func (l *line) nested(key string, value *line)  { l.raw(key, value.end()) }
func (l *line) end() string                     { return string(append(l.buf, '}')) }

// some writes a number that is not 0.
func (l *line) some(key string, n int) *line {
	if n == 0 {
		return l
	}
	return l.number(key, n)
}
