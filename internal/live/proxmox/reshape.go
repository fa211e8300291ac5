package proxmox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

// Shapes implements live.Shaper.
func (h *hand) Shapes(ctx context.Context, vms []string) (map[string]live.Shape, error) {
	v, err := h.source.look(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]live.Shape{}
	for id, s := range v.seats {
		if !slices.Contains(vms, s.name) {
			continue
		}
		settings, err := h.source.client.Config(ctx, s.node, id)
		if err != nil {
			if gone(err) == nil {
				continue
			}
			return nil, fmt.Errorf("read the configuration of %s: %w", s.name, err)
		}
		out[s.name] = formOf(settings, s.runs)
	}
	return out, nil
}

// mostCPUs is the maximum number of sockets and cores.
const mostCPUs = 4096

// formOf is the virtual topology of a configuration.
func formOf(v proxmox.Config, runs bool) live.Shape {
	sockets, cores := int(max(1, proxmoxInt(v["sockets"], mostCPUs))), int(max(1, proxmoxInt(v["cores"], mostCPUs)))
	is := live.Shape{Present: topology.Present{NodePerSocket: true, Setting: topology.Setting{VCPUs: sockets * cores, CoresPerSocket: cores}}}
	if proxmoxInt(v["numa"], 1) == 1 {
		is.CoresPerNode = cores
	}
	byHand := ""
	for name := range v {
		if node, numbered := strings.CutPrefix(name, "numa"); numbered && node != "" && strings.Trim(node, "0123456789") == "" {
			byHand = name
		}
	}
	switch {
	case byHand != "":
		is.Fixed = fmt.Sprintf("its NUMA nodes are set by hand (%s)", byHand)
	case runs:
		is.Busy = "it runs"
	case v["lock"] != "":
		is.Busy = fmt.Sprintf("it is locked (%s)", v["lock"])
	case v["vcpus"] != "" && int(proxmoxInt(v["vcpus"], mostCPUs*mostCPUs)) != is.VCPUs:
		is.Busy = fmt.Sprintf("it has %s vCPUs plugged in of %d", v["vcpus"], is.VCPUs)
	}
	return is
}

// Reshape implements live.Shaper. The cluster refuses it if the configuration changed since it
// was compared with the former one.
func (h *hand) Reshape(ctx context.Context, vm string, from, to topology.Setting) error {
	if err := h.reshape(ctx, vm, from, to); err != nil {
		return fmt.Errorf("change the topology of %s: %w", vm, err)
	}
	return nil
}

func (h *hand) reshape(ctx context.Context, vm string, from, to topology.Setting) error {
	id, s, err := h.find(ctx, vm)
	if err != nil {
		return err
	}
	c := h.source.client
	settings, err := c.Config(ctx, s.node, id)
	if err != nil {
		return err
	}
	switch is := formOf(settings, s.runs); {
	case is.String() == to.String():
		return nil
	case is.String() != from.String():
		return fmt.Errorf("it has %q, not %q: somebody changed it", is.Setting, from)
	case is.Fixed+is.Busy != "":
		return errors.New(cmp.Or(is.Fixed, is.Busy))
	case to.CoresPerSocket < 1 || to.VCPUs%to.CoresPerSocket != 0 || to.VCPUs != is.VCPUs || to.CoresPerNode != 0 && to.CoresPerNode != to.CoresPerSocket || to.HotAdd || to.ShowOnHotAdd || len(to.Advanced) > 0:
		return fmt.Errorf("the platform has no setting %q", to)
	}
	change := map[string]string{"sockets": strconv.Itoa(to.VCPUs / to.CoresPerSocket), "cores": strconv.Itoa(to.CoresPerSocket), "numa": "0"}
	if to.CoresPerNode > 0 {
		change["numa"] = "1"
	}
	if settings["digest"] != "" {
		change["digest"] = string(settings["digest"])
	}
	u, err := proxmox.Guest{Client: c, Node: s.node, ID: id}.Configure(ctx, change)
	if err == nil {
		err = c.Await(ctx, u)
	}
	if err != nil {
		return err
	}
	if settings, err = c.Config(ctx, s.node, id); err != nil {
		return fmt.Errorf("confirm it: %w", err)
	}
	if is := formOf(settings, s.runs); is.String() != to.String() {
		return fmt.Errorf("its task has ended, and the VM has %q, not %q", is.Setting, to)
	}
	return nil
}
