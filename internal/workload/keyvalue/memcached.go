package keyvalue

import (
	"bytes"
	"strconv"
)

// memcached is the text protocol of memcached.
type memcached struct{}

func (memcached) request(buffer []byte, v verb, key []byte, size int) []byte {
	switch v {
	case read:
		buffer = append(append(buffer, "get "...), key...)
	case write:
		buffer = append(append(buffer, "set "...), key...)
		buffer = strconv.AppendInt(append(buffer, " 0 0 "...), int64(size), 10)
	case remove:
		buffer = append(append(buffer, "delete "...), key...)
	}
	return append(buffer, lineEnd...)
}

// answers are the lines that are a whole reply, and to which question.
var answers = []struct {
	line string
	verb verb
	kind outcome
}{
	{"STORED", write, done},
	{"END", read, absent},
	{"DELETED", remove, done},
	{"NOT_FOUND", remove, done},
	{"NOT_STORED", write, refused},
}

func (memcached) reply(line []byte, v verb, key []byte) (reply, error) {
	if rest, ok := bytes.CutPrefix(line, []byte("VALUE ")); ok {
		return value(rest, v, key, line)
	}
	for i := range answers {
		a := &answers[i]
		if string(line) != a.line {
			continue
		}
		if v != a.verb {
			return reply{}, errVerb
		}
		return reply{kind: a.kind}, nil
	}
	if string(line) == "ERROR" || bytes.HasPrefix(line, []byte("CLIENT_ERROR")) || bytes.HasPrefix(line, []byte("SERVER_ERROR")) {
		return reply{kind: refused}, nil
	}
	return reply{}, strange("memcached", line)
}

// value reads the rest of a line that announces a value: its key, flags and size.
func value(rest []byte, v verb, key, line []byte) (reply, error) {
	name, rest, one := bytes.Cut(rest, []byte(" "))
	flags, digits, two := bytes.Cut(rest, []byte(" "))
	size, three := count(digits)
	_, four := count(flags)
	if !one || !two || !three || !four {
		return reply{}, strange("memcached", line)
	}
	if v != read {
		return reply{}, errVerb
	}
	return reply{kind: follows, size: size, tail: "\r\nEND\r\n", ours: bytes.Equal(name, key)}, nil
}

func (memcached) removals() string { return "stats\r\n" }

func (memcached) hello() (question, answer string) { return "version\r\n", "VERSION " }
