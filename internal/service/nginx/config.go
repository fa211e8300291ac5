package nginx

import (
	"fmt"
	"strings"

	"plimsoll/internal/service"
)

const (
	configName = "nginx.conf"
	logName    = "error.log"
	pidName    = "nginx.pid"
	rootName   = "www"

	oldest = "1.19.7" // the first whose keepalive_requests applies to HTTP/2 too; also supports the option -e
)

// config is the configuration of one instance. All names in it are relative to its folder,
// which nginx gets on its command line.
type config struct {
	settings Settings
	found    service.Found
	place    service.Location
	secret   string // the status page requires this secret
}

func (c config) text() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	s := c.settings
	line("daemon off;")
	if c.place.Root {
		line("user root;") // no other user could read the pages
	}
	line("worker_processes %d;", s.Workers)
	line("pid %s;", pidName)
	line("worker_rlimit_nofile %d;", 2*s.Connections+64) // a connection, and the file that it sends
	line("events { worker_connections %d; }", s.Connections)
	line("http {")
	line("access_log off;")
	line("sendfile on;")
	line("keepalive_timeout 1h;") // a slow client keeps its connection
	line("keepalive_requests %d;", s.KeepaliveRequests)
	line("types { text/html html; text/plain txt; image/jpeg jpg; }")
	line("client_body_temp_path tmp_body;")
	for _, module := range []string{"proxy", "fastcgi", "uwsgi", "scgi"} {
		if !strings.Contains(c.found.Said, "--without-http_"+module+"_module") {
			line("%s_temp_path tmp_%s;", module, module)
		}
	}
	line("server {")
	line("listen %s%s backlog=4096;", c.place.Address(0), c.flags())
	if s.HTTP2 && c.found.AtLeast("1.25.1") {
		line("http2 on;")
	}
	line("root %s;", rootName)
	if s.TLS {
		line("ssl_certificate %s;", service.CertFile)
		line("ssl_certificate_key %s;", service.KeyFile)
	}
	line("location = / { try_files /0/page.html =404; }")
	line("}")
	line("server {")
	line("listen %s;", c.place.Address(1))
	line("location = /%s/status { stub_status; }", c.secret)
	line("}")
	line("}")
	return []byte(b.String())
}

func (c config) flags() string {
	flags := ""
	if c.place.Shared {
		flags += " reuseport"
	}
	if c.settings.TLS {
		flags += " ssl"
	}
	if c.settings.HTTP2 && !c.found.AtLeast("1.25.1") {
		flags += " http2"
	}
	return flags
}
