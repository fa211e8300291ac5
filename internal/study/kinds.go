package study

import (
	"slices"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/workload"
)

// Kind is a platform, workload or service as studies use it.
type Kind struct {
	Name, Doc string
	Defaults  any
}

// Kinds are those of a class: "platform", "workload", "service" or "monitor".
func (c *Catalog) Kinds(class string) (all []Kind) {
	switch class {
	case "platform":
		for _, k := range c.Platforms {
			all = append(all, Kind{k.Name, k.Doc, k.Defaults})
		}
	case "workload":
		for _, k := range c.Workloads {
			all = append(all, Kind{k.Name, k.Doc, k.Defaults})
		}
	case "service":
		for _, k := range c.Services {
			all = append(all, Kind{k.Name, k.Doc, k.Defaults})
		}
	case "monitor":
		for _, k := range c.Monitors {
			all = append(all, Kind{k.Name, k.Doc, k.Defaults})
		}
	}
	return all
}

// Names are those of the kinds of a class.
func (c *Catalog) Names(class string) []string {
	return namesOf(c.Kinds(class), func(k Kind) string { return k.Name })
}

func namesOf[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = name(one)
	}
	return out
}

func find[T any](all []T, is func(T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return &all[i]
	}
	return nil
}

// Service finds a kind of service; nil for none.
func (c *Catalog) Service(name string) *service.Kind {
	return find(c.Services, func(k service.Kind) bool { return k.Name == name })
}

// Workload finds a kind of workload; nil for none.
func (c *Catalog) Workload(name string) *workload.Kind {
	return find(c.Workloads, func(k workload.Kind) bool { return k.Name == name })
}

// Monitor finds a kind of monitor; nil for none.
func (c *Catalog) Monitor(name string) *collect.Monitor {
	return find(c.Monitors, func(k collect.Monitor) bool { return k.Name == name })
}

// Virtual reports whether a platform runs in virtual time.
func (c *Catalog) Virtual(name string) bool {
	k := find(c.Platforms, func(k platform.Kind) bool { return k.Name == name })
	return k != nil && k.Virtual
}

// Hosted reports whether a platform runs a service on its host, where the disks of its machines are in it.
func (c *Catalog) Hosted(on, name string) bool {
	k, of := find(c.Platforms, func(k platform.Kind) bool { return k.Name == on }), c.Service(name)
	return k != nil && of != nil && k.Hosts != "" && slices.Contains(of.Speaks, k.Hosts)
}

// Factor finds a factor; nil for none.
func (c *Catalog) Factor(name string) *factor.Factor {
	return find(c.Factors, func(k factor.Factor) bool { return k.Name == name })
}

// Fitting names the services that a workload supports, the default one first.
func (c *Catalog) Fitting(kind *workload.Kind) (fit []string) {
	for _, k := range c.Services {
		if slices.ContainsFunc(k.Speaks, func(p string) bool { return slices.Contains(kind.Speaks, p) }) {
			fit = append(fit, k.Name)
		}
	}
	return fit
}

// Driving names the workloads that support a service; none for an unknown service.
func (c *Catalog) Driving(service string) (names []string) {
	for i := range c.Workloads {
		if slices.Contains(c.Fitting(&c.Workloads[i]), service) {
			names = append(names, c.Workloads[i].Name)
		}
	}
	return names
}
