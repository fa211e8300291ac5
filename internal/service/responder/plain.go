package responder

import (
	"bytes"
)

// plain serves HTTP/1.1 without TLS, as far as the loads need it, at a fraction of the CPU
// time of net/http.
type plain struct {
	site   *content
	path   []byte
	method string // GET, HEAD, or empty for other methods
	close  bool
}

func (p *plain) next(data []byte) (int, error) {
	end := bytes.Index(data[:min(len(data), longestHead)], []byte("\r\n\r\n"))
	if end < 0 {
		if len(data) >= longestHead {
			return 0, errTooLong
		}
		return 0, nil
	}
	used := end + 4
	first, fields, _ := bytes.Cut(data[:end], []byte("\r\n"))
	method, rest, ok1 := bytes.Cut(first, []byte(" "))
	target, version, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return 0, errMalformed
	}
	switch string(method) {
	case "GET":
		p.method = "GET"
	case "HEAD":
		p.method = "HEAD"
	default:
		p.method = ""
	}
	p.path, _, _ = bytes.Cut(target, []byte("?"))
	p.close = string(version) == "HTTP/1.0"
	body, err := p.fields(fields)
	if err != nil {
		return 0, err
	}
	if body > longestRequest {
		return 0, errTooLong
	}
	if len(data) < used+body {
		return 0, nil
	}
	return used + body, nil
}

// fields parses the header and returns the length of the body.
func (p *plain) fields(fields []byte) (body int, err error) {
	for len(fields) > 0 {
		var line []byte
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return 0, errMalformed
		}
		switch value = bytes.TrimSpace(value); {
		case is(name, "content-length"):
			if body, ok = digits(value); !ok {
				return 0, errMalformed
			}
		case is(name, "transfer-encoding"):
			return 0, errMalformed // no client sends a body to this server
		case is(name, "connection"):
			if is(value, "close") {
				p.close = true
			} else if is(value, "keep-alive") {
				p.close = false
			}
		}
	}
	return body, nil
}

func (p *plain) last() bool { return p.close }

func (p *plain) failure(out []byte, why string) []byte {
	if why == onPurpose {
		return p.short(out, "500 Internal Server Error")
	}
	p.close = true
	return p.short(out, "400 Bad Request")
}

func (p *plain) answer(out []byte) []byte {
	f, ok := p.site.files[string(p.path)]
	switch {
	case p.method == "":
		return p.short(out, "405 Method Not Allowed")
	case !ok:
		return p.short(out, "404 Not Found")
	case p.close:
		out = append(out, f.head[:len(f.head)-2]...)
		out = append(out, "Connection: close\r\n\r\n"...)
	default:
		out = append(out, f.head...)
	}
	if p.method == "GET" {
		out = append(out, f.body...)
	}
	return out
}

// short appends a response without a body.
func (p *plain) short(out []byte, status string) []byte {
	out = append(append(append(out, "HTTP/1.1 "...), status...), "\r\nServer: plimsoll\r\nContent-Length: 0\r\n"...)
	if p.close {
		out = append(out, "Connection: close\r\n"...)
	}
	return append(out, "\r\n"...)
}
