package guest

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/guest/nbd"
)

// route is what lies between a guest's disk and its file: nothing but QEMU, or a server
// with filters.
type route struct {
	server  string // none, nbd (plimsoll's own) or nbdkit
	filters []string
}

const (
	noServer  = "none"
	ownServer = "nbd"
	nbdkit    = "nbdkit"
)

// kitFilters are the filters of nbdkit that a study may name, with the options that each
// takes.
var kitFilters = map[string]func(argument string) []string{
	"nofilter": func(string) []string { return nil },
	"stats":    func(string) []string { return []string{"statsfile=/dev/null"} },
	"delay":    func(time string) []string { return []string{"rdelay=" + time, "wdelay=" + time} },
}

// parseRoute reads none; nbd, which is a server without a filter; filters of plimsoll's own,
// the first nearest to the guest, with spaces between them; or nbdkit, with a filter of
// its own after a colon.
func parseRoute(text string) (p route, err error) {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0 || slices.Equal(fields, []string{noServer}):
		return route{server: noServer}, nil
	case slices.Equal(fields, []string{ownServer}):
		return route{server: ownServer}, nil
	case slices.Equal(fields, []string{nbdkit}):
		return route{server: nbdkit}, nil
	}
	p.server = ownServer
	if strings.HasPrefix(fields[0], nbdkit+":") {
		p.server = nbdkit
	}
	for _, f := range fields {
		if p.server == nbdkit {
			err = checkKit(f)
		} else {
			_, err = nbd.ParseFilter(strings.TrimPrefix(f, "daemon:"))
		}
		if err != nil {
			return p, fmt.Errorf("io_filter: %w; or none, nbd (a server without a filter), nbdkit or nbdkit:FILTER", err)
		}
		p.filters = append(p.filters, strings.TrimPrefix(f, nbdkit+":"))
	}
	return p, nil
}

func checkKit(text string) error {
	own, ok := strings.CutPrefix(text, nbdkit+":")
	name, argument, given := strings.Cut(own, ":")
	if _, known := kitFilters[name]; !ok || !known {
		return fmt.Errorf("%q is none of nbdkit:nofilter, nbdkit:stats and nbdkit:delay:TIME", text)
	}
	if given != (name == "delay") {
		return fmt.Errorf("%q: delay has a time, as in nbdkit:delay:1ms, and no other filter has one", text)
	}
	if name == "delay" {
		_, err := nbd.ParseFilter("delay:" + argument)
		return err
	}
	return nil
}

// String is the text that parseRoute reads as this.
func (p route) String() string {
	if len(p.filters) == 0 {
		return p.server
	}
	if p.server != nbdkit {
		return strings.Join(p.filters, " ")
	}
	return nbdkit + ":" + strings.Join(p.filters, " "+nbdkit+":")
}

// kitArguments are nbdkit's for a file.
func (p route) kitArguments(socket, file string) []string {
	args := []string{"--foreground", "--exit-with-parent", "--unix", socket}
	var options []string
	for _, f := range p.filters {
		name, argument, _ := strings.Cut(f, ":")
		args = append(args, "--filter="+name)
		options = append(options, kitFilters[name](argument)...)
	}
	return append(append(args, "file", file), options...)
}

// kitRoute reads the arguments of an nbdkit that runs.
func kitRoute(args []string) route {
	p := route{server: nbdkit}
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "--filter="); ok {
			p.filters = append(p.filters, name)
		}
		if time, ok := strings.CutPrefix(a, "rdelay="); ok {
			if i := slices.Index(p.filters, "delay"); i >= 0 {
				p.filters[i] = "delay:" + time
			}
		}
	}
	return p
}

// checkRoute finds settings of the disk that a server would make untrue.
func (s Settings) checkRoute() error {
	p, err := parseRoute(s.IOFilter)
	if err != nil || p.server == noServer {
		return err
	}
	switch {
	case s.Cache == "none" || s.Cache == "directsync":
		return fmt.Errorf("io_filter %s: its server goes through the page cache of the host, which cache: %s goes past: set cache: writeback, so that arms with and without it differ in nothing else", p, s.Cache)
	case s.AIO != "threads":
		return fmt.Errorf("io_filter %s: aio %s is for files that QEMU opens itself: set aio: threads", p, s.AIO)
	}
	return nil
}
