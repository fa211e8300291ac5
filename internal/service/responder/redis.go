package responder

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
)

// redis speaks RESP, version 2: arrays of bulk strings, and inline commands.
type redis struct {
	keys     *store
	settings map[string]string
	words    [][]byte // of the request, within data
	quit     bool
}

const mostWords = 1 << 20

func (r *redis) next(data []byte) (int, error) {
	r.words = r.words[:0]
	if data[0] != '*' {
		return r.typed(data)
	}
	count, used, err := number(data, '*')
	if used == 0 || err != nil {
		return 0, err
	}
	if count > mostWords {
		return 0, errTooLong
	}
	for range count {
		if used == len(data) {
			return 0, r.incomplete(used)
		}
		size, head, err := number(data[used:], '$')
		if head == 0 || err != nil {
			return 0, err
		}
		if used+head+size+2 > longestRequest {
			return 0, errTooLong
		}
		used += head
		if used+size+2 > len(data) {
			return 0, r.incomplete(used)
		}
		r.words = append(r.words, data[used:used+size])
		if used += size; data[used] != '\r' || data[used+1] != '\n' {
			return 0, errMalformed
		}
		used += 2
	}
	return used, nil
}

func (r *redis) incomplete(used int) error {
	if used > longestRequest {
		return errTooLong
	}
	return nil
}

func (r *redis) typed(data []byte) (int, error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > longestHead {
			return 0, errTooLong
		}
		return 0, nil
	}
	r.words = append(r.words, bytes.Fields(data[:end])...)
	return end + 1, nil
}

// number parses a line of a type byte and a number.
func number(data []byte, mark byte) (n, used int, err error) {
	if data[0] != mark {
		return 0, 0, errMalformed
	}
	end := bytes.IndexByte(data[:min(len(data), 32)], '\n')
	if end < 0 {
		if len(data) >= 32 {
			return 0, 0, errMalformed
		}
		return 0, 0, nil
	}
	n, ok := digits(bytes.TrimSuffix(data[1:end], []byte("\r")))
	if !ok {
		return 0, 0, errMalformed
	}
	return n, end + 1, nil
}

func (r *redis) last() bool { return r.quit }

func (r *redis) failure(out []byte, why string) []byte {
	return append(append(append(out, "-ERR "...), why...), "\r\n"...)
}

// is compares a word case-insensitively.
func is(word []byte, name string) bool {
	return len(word) == len(name) && bytes.EqualFold(word, []byte(name))
}

func (r *redis) answer(out []byte) []byte {
	if len(r.words) == 0 {
		return out
	}
	name, rest := r.words[0], r.words[1:]
	switch {
	case is(name, "get") && len(rest) == 1:
		return r.bulk(out, rest[0])
	case is(name, "set") && len(rest) == 2:
		r.keys.set(rest[0], bytes.Clone(rest[1]), 0)
		return append(out, "+OK\r\n"...)
	case is(name, "mget") && len(rest) > 0:
		out = head(out, '*', len(rest))
		for _, key := range rest {
			out = r.bulk(out, key)
		}
		return out
	case (is(name, "del") || is(name, "unlink")) && len(rest) > 0:
		removed := 0
		for _, key := range rest {
			if r.keys.remove(key) {
				removed++
			}
		}
		return head(out, ':', removed)
	case is(name, "ping") && len(rest) == 0:
		return append(out, "+PONG\r\n"...)
	}
	return r.manage(out, name, rest)
}

// manage serves rare commands.
func (r *redis) manage(out, name []byte, rest [][]byte) []byte {
	switch {
	case is(name, "flushall") || is(name, "flushdb"):
		r.keys.clear()
		return append(out, "+OK\r\n"...)
	case is(name, "dbsize"):
		keys, _ := r.keys.size()
		return head(out, ':', keys)
	case is(name, "info"):
		return text(out, r.info())
	case is(name, "config") && len(rest) == 2 && is(rest[0], "get"):
		return r.config(out, string(rest[1]))
	case is(name, "command"):
		return head(out, '*', 0)
	case is(name, "select") && len(rest) == 1:
		return append(out, "+OK\r\n"...)
	case is(name, "quit"):
		r.quit = true
		return append(out, "+OK\r\n"...)
	}
	return append(out, fmt.Sprintf("-ERR the responder does not know %q with %d arguments\r\n", name, len(rest))...)
}

func (r *redis) info() string {
	keys, size := r.keys.size()
	return fmt.Sprintf("# Server\r\nredis_version:0.0.0\r\nserver_name:plimsoll\r\nprocess_id:%d\r\n# Memory\r\nused_memory:%d\r\n# Stats\r\nexpired_keys:0\r\nevicted_keys:0\r\n# Keyspace\r\ndb0:keys=%d,expires=0,avg_ttl=0\r\n",
		os.Getpid(), size, keys)
}

// config returns the settings of the responder, and those that clients of Redis read.
func (r *redis) config(out []byte, pattern string) []byte {
	known := map[string]string{"save": "", "appendonly": "no"}
	for name, value := range r.settings {
		known[name] = value
	}
	var found []string
	for name := range known {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	out = head(out, '*', 2*len(found))
	for _, name := range found {
		out = text(text(out, name), known[name])
	}
	return out
}

func (r *redis) bulk(out, key []byte) []byte {
	v, ok := r.keys.get(key)
	if !ok {
		return append(out, "$-1\r\n"...)
	}
	out = append(head(out, '$', len(v.data)), v.data...)
	return append(out, "\r\n"...)
}

func text(out []byte, s string) []byte {
	out = append(head(out, '$', len(s)), s...)
	return append(out, "\r\n"...)
}

func head(out []byte, mark byte, n int) []byte {
	out = strconv.AppendInt(append(out, mark), int64(n), 10)
	return append(out, "\r\n"...)
}
