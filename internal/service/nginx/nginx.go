// Package nginx is the service of an nginx web server: a private instance with generated
// pages, or a server that you provide.
package nginx

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/webfiles"
)

// Settings are the settings of the server.
type Settings struct {
	service.Placement
	Address           string          `name:"address" doc:"address of a server you provide, host:port; empty starts one"`
	CA                string          `name:"ca" doc:"PEM file with the certificate authority of a server you provide; with tls"`
	Workers           int             `name:"workers" doc:"worker processes" min:"1" max:"1024"`
	Connections       int             `name:"connections" doc:"maximum connections of a worker" min:"16" max:"1000000"`
	KeepaliveRequests int             `name:"keepalive_requests" doc:"maximum requests of a keep-alive connection" min:"1" max:"1000000000"`
	TLS               bool            `name:"tls" doc:"serve over TLS, with a certificate made for the run" unsafe:"false"`
	HTTP2             bool            `name:"http2" doc:"serve HTTP/2; some versions without TLS serve only that"`
	Pages             int             `name:"pages" doc:"number of pages" min:"1" max:"10000"`
	PageSize          parameter.Bytes `name:"page_size" doc:"size of a page with its images; a tenth is HTML" min:"128B" max:"64MiB"`
	Images            int             `name:"images" doc:"images per page; 0 makes the whole page HTML" min:"0" max:"100"`
}

func defaults() Settings {
	return Settings{Placement: service.Alone(), Workers: 1, Connections: 4096, KeepaliveRequests: 1000, Pages: 1, PageSize: 100 << 10, Images: 5}
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Candidates: candidates(),
		Needs:      "nginx",
		Name:       "nginx",
		Doc:        "nginx, started for the study, or a server you provide",
		Speaks:     []string{"http"},
		Metrics: []measure.Metric{
			{Name: "nginx.requests", Unit: "1/s", Doc: "requests served, those of this collector included"},
			{Name: "nginx.connections", Unit: "1/s", Doc: "connections accepted, those of this collector included"},
			{Name: "nginx.clients", Unit: "1", Doc: "open connections"},
			{Name: "nginx.idle", Unit: "1", Doc: "idle keep-alive connections"},
			{Name: "nginx.cpu", Unit: "1", Doc: "CPUs used by the workers"},
		},
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	at, err := service.Provided(s.Address, s, defaults(), "tls", "ca", "http2")
	switch {
	case err != nil:
		return nil, err
	case at == nil && s.CA != "":
		return nil, errors.New("ca requires address: it is for a server you provide")
	case at == nil:
		return s.private(), nil
	case s.TLS != (s.CA != ""):
		return nil, errors.New("with address, tls and ca must be set together")
	}
	return &foreign{s, at.Endpoint}, nil
}

// private is a server that plimsoll starts, with a second port for its status.
func (s Settings) private() service.Private {
	return service.Private{
		Find: s.find, Needs: service.Needs{Disk: s.pages(0).Bytes(), Time: time.Second}, Ports: 2, Shares: !s.TLS,
		Daemon: func(_ context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			cert, err := service.NewServerCertificate(s.TLS, place.Host)
			if err != nil {
				return service.Daemon{}, err
			}
			c := config{settings: s, found: found, place: place, secret: rand.Text()}
			server := &server{
				endpoint: load.Endpoint{Network: "tcp", Address: place.Address(0), CA: cert.CA},
				control:  "http://" + place.Address(1) + "/" + c.secret,
				machine:  env.Machine, dir: place.Dir, program: found.Name,
			}
			return service.Daemon{
				Argv:  []string{found.Name, "-p", place.Dir + "/", "-e", logName, "-c", configName},
				Log:   logName,
				Files: service.Join(service.Files(configName, c.text()), cert.Files(), s.files(env.Seed)),
				Ready: server.ready,
			}, nil
		},
	}
}

func (s Settings) pages(seed uint64) webfiles.Pages {
	return webfiles.Pages{Count: s.Pages, Size: int64(s.PageSize), Images: s.Images, Seed: seed}
}

// files are the pages below the document root.
func (s Settings) files(seed uint64) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for name, data := range s.pages(seed).Files() {
			if !yield(path.Join(rootName, name), data) {
				return
			}
		}
	}
}

// find finds the program, and checks the modules that it needs.
func (s Settings) find(ctx context.Context, m platform.Machine) (service.Found, error) {
	found, err := service.Program{
		Names: []string{"nginx"}, Version: []string{"-V"},
		Install: "apt install nginx-light (or dnf install nginx)",
	}.Find(ctx, m)
	if err != nil {
		return found, err
	}
	if !found.AtLeast(oldest) {
		return found, fmt.Errorf("nginx %s is too old: version %s or newer is required", found.Version, oldest)
	}
	for module, needed := range map[string]bool{"http_stub_status_module": true, "http_ssl_module": s.TLS, "http_v2_module": s.HTTP2} {
		if needed && !strings.Contains(found.Said, "--with-"+module) {
			return found, fmt.Errorf("nginx on this host was built without %s: install another package of it, such as nginx-light", module)
		}
	}
	return found, nil
}

// foreign is a server that you provide.
type foreign struct {
	settings Settings
	endpoint load.Endpoint
}

// Check verifies that the server responds with the given protocol.
func (f *foreign) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	_, err := f.Start(ctx, env)
	return service.Needs{}, err
}

// Start verifies that the server responds; it starts nothing.
func (f *foreign) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	e := f.endpoint
	if f.settings.CA != "" {
		var err error
		if e.CA, err = env.Machine.ReadFile(ctx, f.settings.CA); err != nil {
			return nil, fmt.Errorf("read the certificate authority: %w", err)
		}
	}
	conn, err := service.Dial(ctx, env.Machine, e)
	if err != nil {
		return nil, err
	}
	conn.Close()
	c, err := find(ctx, env.Machine, e)
	if err != nil {
		return nil, err
	}
	if f.settings.HTTP2 && !c.http2 {
		return nil, fmt.Errorf("the server at %s does not speak HTTP/2: omit http2, or enable it there", e.Address)
	}
	return service.Use(service.Live{
		Endpoints: map[string]load.Endpoint{"http": e},
		Observe: func(ctx context.Context) (map[string]string, error) {
			c, err := find(ctx, env.Machine, e)
			if err != nil {
				return nil, err
			}
			observed := c.observed()
			observed["address"] = e.Address
			return observed, nil
		},
	}), nil
}
