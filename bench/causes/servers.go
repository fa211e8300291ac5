package causes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"

	"plimsoll/bench/causes/scene"
)

// web is a web server with one file, /page.
type web struct {
	workers, connections, kibibytes int
	backlog, files                  int
	gzip                            bool
	listen                          string // host; this one where empty
	in                              scene.Command
}

// nginx starts it and returns its address.
func nginx(s *scene.Scene, w web) (address string, p *scene.Process, err error) {
	port, err := scene.Port()
	if err != nil {
		return "", nil, err
	}
	host := w.listen
	if host == "" {
		host = "127.0.0.1"
	}
	address = fmt.Sprintf("%s:%d", host, port)
	listen := address
	if w.backlog > 0 {
		listen += fmt.Sprintf(" backlog=%d", w.backlog)
	}
	conf := fmt.Sprintf("daemon off; pid %[1]s/nginx.pid; error_log %[1]s/error.log crit; worker_processes %[2]d; user root;\n", s.Dir, max(w.workers, 1))
	if w.files > 0 {
		conf += fmt.Sprintf("worker_rlimit_nofile %d;\n", w.files)
	}
	conf += fmt.Sprintf("events { worker_connections %d; }\nhttp { access_log off; keepalive_requests 10000000; default_type text/plain; sendfile on; server { listen %s; root %s/www; } }\n", w.connections, listen, s.Dir)
	if w.gzip {
		conf = strings.Replace(conf, "http {", "http { gzip on; gzip_types text/plain; gzip_comp_level 5;", 1)
	}
	if err := os.MkdirAll(s.Path("www"), 0o755); err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(s.Path("www/page"), prose(max(w.kibibytes, 1)<<10), 0o644); err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(s.Path("nginx.conf"), []byte(conf), 0o644); err != nil {
		return "", nil, err
	}
	w.in.Argv = []string{"nginx", "-c", s.Path("nginx.conf"), "-p", s.Dir, "-e", s.Path("error.log")}
	p, err = s.Server(w.in, address)
	return address, p, err
}

// prose is text of a length, which compresses as text does.
func prose(length int) []byte {
	words := strings.Fields("the host has a disk and what it serves is slow while nobody knows why so that users of the shop wait for pages")
	var text []byte
	random := rand.New(rand.NewPCG(1, 2))
	for len(text) < length {
		text = fmt.Appendf(text, "%s %x ", words[random.IntN(len(words))], random.IntN(1<<16))
	}
	return text[:length]
}

// redis starts a Redis on this host with one small and one large key, and returns its address.
func redis(s *scene.Scene, in scene.Command, settings ...string) (address string, p *scene.Process, err error) {
	return redisAt(s, "127.0.0.1", in, settings...)
}

// redisAt is redis at an address of this host or of a link's far end.
func redisAt(s *scene.Scene, host string, in scene.Command, settings ...string) (address string, p *scene.Process, err error) {
	free, err := scene.Port()
	if err != nil {
		return "", nil, err
	}
	port := fmt.Sprint(free)
	address = net.JoinHostPort(host, port)
	in.Argv = append([]string{"redis-server", "--port", port, "--bind", host, "--protected-mode", "no", "--dir", s.Dir, "--save", ""}, settings...)
	if p, err = s.Server(in, address); err != nil {
		return "", nil, err
	}
	_, err1 := s.Run("redis-cli", "-h", host, "-p", port, "set", "key", strings.Repeat("x", 64))
	_, err2 := s.Run("redis-cli", "-h", host, "-p", port, "setrange", "big", "2000000", "x")
	return address, p, errors.Join(err1, err2)
}

// memcached starts a Memcached without a key and returns its address.
func memcached(s *scene.Scene, threads int, in scene.Command) (address string, p *scene.Process, err error) {
	port, err := scene.Port()
	if err != nil {
		return "", nil, err
	}
	address = scene.Local(port)
	in.Argv = []string{"memcached", "-u", "root", "-l", "127.0.0.1", "-p", fmt.Sprint(port), "-t", fmt.Sprint(threads), "-c", "4096"}
	p, err = s.Server(in, address)
	return address, p, err
}

// client starts a load of ours, whose figures are the workload's. It goes to a target such as
// http://127.0.0.1:80.
func client(s *scene.Scene, target string, in scene.Command, more ...string) (*scene.Meter, error) {
	protocol, address, _ := strings.Cut(target, "://")
	in.Argv = append([]string{"load", "--to", address, "--protocol", protocol}, more...)
	if protocol == "http" {
		in.Argv = append(in.Argv, "--file", "page")
	}
	in.Reads = scene.Ours
	return scene.Figures(s.Part("client", in))
}

// server starts a server of ours that answers lines and returns its address.
func server(s *scene.Scene, in scene.Command, more ...string) (address string, err error) {
	port, err := scene.Port()
	if err != nil {
		return "", err
	}
	address = scene.Local(port)
	in.Argv = append([]string{"serve", "--listen", address}, more...)
	p, err := s.Part("shop", in)
	if err != nil {
		return "", err
	}
	return address, s.Listening(p, address)
}

// count is an option with a number.
func count(name string, n int) string { return fmt.Sprintf("--%s=%d", name, n) }
