package spec

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/nbd"
)

// Route is the path from a VM's disk to its file: QEMU alone, or a server with filters.
type Route struct {
	Server  string   // none, nbd (plimsoll's own) or nbdkit
	Filters []string // the first is nearest to the VM
}

// The servers of a Route.
const (
	NoServer  = "none"
	OwnServer = "nbd"
	NBDKit    = "nbdkit"
)

// kitFilters are the filters of nbdkit that a study may use, with their options.
var kitFilters = map[string]func(argument string) []string{
	"nofilter": func(string) []string { return nil },
	"stats":    func(string) []string { return []string{"statsfile=/dev/null"} },
	"delay":    func(time string) []string { return []string{"rdelay=" + time, "wdelay=" + time} },
}

// ParseRoute parses none; nbd, a server without a filter; plimsoll's own filters, separated by
// spaces; or nbdkit, optionally with one of its filters after a colon.
func ParseRoute(text string) (r Route, err error) {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0 || slices.Equal(fields, []string{NoServer}):
		return Route{Server: NoServer}, nil
	case slices.Equal(fields, []string{OwnServer}):
		return Route{Server: OwnServer}, nil
	case slices.Equal(fields, []string{NBDKit}):
		return Route{Server: NBDKit}, nil
	}
	r.Server = OwnServer
	if strings.HasPrefix(fields[0], NBDKit+":") {
		r.Server = NBDKit
	}
	for _, f := range fields {
		if r.Server == NBDKit {
			err = checkKit(f)
		} else {
			_, err = nbd.ParseFilter(strings.TrimPrefix(f, "daemon:"))
		}
		if err != nil {
			return r, fmt.Errorf("io_filter: %w; or none, nbd (a server without a filter), nbdkit or nbdkit:FILTER", err)
		}
		r.Filters = append(r.Filters, strings.TrimPrefix(f, NBDKit+":"))
	}
	return r, nil
}

func checkKit(text string) error {
	own, ok := strings.CutPrefix(text, NBDKit+":")
	name, argument, given := strings.Cut(own, ":")
	if _, known := kitFilters[name]; !ok || !known {
		return fmt.Errorf("%q is not one of nbdkit:nofilter, nbdkit:stats and nbdkit:delay:TIME", text)
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

// String returns the text for ParseRoute.
func (r Route) String() string {
	if len(r.Filters) == 0 {
		return r.Server
	}
	if r.Server != NBDKit {
		return strings.Join(r.Filters, " ")
	}
	return NBDKit + ":" + strings.Join(r.Filters, " "+NBDKit+":")
}

// KitArguments returns the arguments of nbdkit.
func (r Route) KitArguments(socket, file string) []string {
	args := []string{"--foreground", "--exit-with-parent", "--unix", socket}
	var options []string
	for _, f := range r.Filters {
		name, argument, _ := strings.Cut(f, ":")
		args = append(args, "--filter="+name)
		options = append(options, kitFilters[name](argument)...)
	}
	return append(append(args, "file", file), options...)
}

// KitRoute parses the arguments of a running nbdkit.
func KitRoute(args []string) Route {
	r := Route{Server: NBDKit}
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "--filter="); ok {
			r.Filters = append(r.Filters, name)
		}
		if time, ok := strings.CutPrefix(a, "rdelay="); ok {
			if i := slices.Index(r.Filters, "delay"); i >= 0 {
				r.Filters[i] = "delay:" + time
			}
		}
	}
	return r
}

// checkRoute refuses settings of the disk that a server does not honour.
func (g Guest) checkRoute() error {
	r, err := ParseRoute(g.IOFilter)
	if err != nil || r.Server == NoServer {
		return err
	}
	switch {
	case g.Cache == "none" || g.Cache == "directsync":
		return fmt.Errorf("io_filter %s: its server uses the host's page cache, which cache: %s bypasses: set cache: writeback, so that arms with and without it differ in nothing else", r, g.Cache)
	case g.AIO != "threads":
		return fmt.Errorf("io_filter %s: aio %s is for files that QEMU opens itself: set aio: threads", r, g.AIO)
	}
	return nil
}
