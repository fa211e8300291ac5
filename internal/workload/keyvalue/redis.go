package keyvalue

import "strconv"

// redis is RESP, version 2: requests are arrays of strings, each with its length
// in front.
type redis struct{}

func (redis) request(buffer []byte, v verb, key []byte, size int) []byte {
	switch v {
	case read:
		buffer = append(buffer, "*2\r\n$3\r\nGET\r\n$"...)
	case write:
		buffer = append(buffer, "*3\r\n$3\r\nSET\r\n$"...)
	case remove:
		buffer = append(buffer, "*2\r\n$3\r\nDEL\r\n$"...)
	}
	buffer = strconv.AppendInt(buffer, int64(len(key)), 10)
	buffer = append(append(buffer, lineEnd...), key...)
	buffer = append(buffer, lineEnd...)
	if v == write {
		buffer = strconv.AppendInt(append(buffer, '$'), int64(size), 10)
		buffer = append(buffer, lineEnd...)
	}
	return buffer
}

func (redis) reply(line []byte, v verb, _ []byte) (reply, error) {
	if len(line) == 0 {
		return reply{}, strange("redis", line)
	}
	rest := line[1:]
	switch {
	case line[0] == '-':
		return reply{kind: refused}, nil
	case line[0] == '$' && string(rest) == "-1":
		if v != read {
			return reply{}, errVerb
		}
		return reply{kind: absent}, nil
	case line[0] == '$':
		size, ok := count(rest)
		if !ok {
			return reply{}, strange("redis", line)
		}
		if v != read {
			return reply{}, errVerb
		}
		return reply{kind: follows, size: size, tail: lineEnd, ours: true}, nil
	case string(line) == "+OK":
		if v != write {
			return reply{}, errVerb
		}
		return reply{}, nil
	case line[0] == ':':
		if _, ok := count(rest); !ok {
			return reply{}, strange("redis", line)
		}
		if v != remove {
			return reply{}, errVerb
		}
		return reply{}, nil
	}
	return reply{}, strange("redis", line)
}

func (redis) removals() string { return "*1\r\n$4\r\nINFO\r\n" }

func (redis) hello() (question, answer string) { return "*1\r\n$4\r\nPING\r\n", "+PONG" }
