package operation

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/workload/operations/management"
)

// Survey lists the hosts, and the domains with the mark. A domain in migration is listed on
// the host where it runs.
func (c *client) Survey(ctx context.Context, prefix, mark string) (management.Survey, error) {
	s := management.Survey{Fixed: true, ColdClones: true, DiskSnapshots: true} // daemons refuse the others
	for _, h := range c.hosts {
		s.Hosts = append(s.Hosts, h.Name)
	}
	var mu sync.Mutex
	byID := map[string]management.VM{}
	err := c.everywhere(func(h *host) error {
		conn := h.conn()
		all, err := conn.Domains(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			if !strings.HasPrefix(d.Name, prefix) {
				continue
			}
			v, err := look(ctx, libvirt.Instance{Conn: conn, Domain: d})
			if libvirt.Missing(err) {
				continue // it was deleted meanwhile
			}
			if err != nil {
				return err
			}
			v.Host = h.Name
			mu.Lock()
			if other, twice := byID[v.ID]; management.Marked(v.Note, mark) && (!twice || other.Power != management.On) {
				byID[v.ID] = v
			}
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("list the domains: %w", err)
	}
	for _, v := range byID {
		s.VMs = append(s.VMs, v)
	}
	slices.SortFunc(s.VMs, func(a, b management.VM) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
	return s, nil
}

// look reads a domain.
func look(ctx context.Context, i libvirt.Instance) (v management.VM, err error) {
	v = management.VM{ID: hex.EncodeToString(i.Domain.UUID[:]), Name: i.Domain.Name, Power: management.Off}
	state, err := i.Conn.State(ctx, i.Domain)
	if err != nil {
		return v, err
	}
	saved, err := i.Saved(ctx)
	if err != nil {
		return v, err
	}
	switch {
	case state != libvirt.Off && state != libvirt.Crashed:
		v.Power = management.On
	case saved:
		v.Power = management.Suspended
	}
	text, err := i.Definition(ctx)
	if err != nil {
		return v, err
	}
	is, err := parse(text)
	if err != nil {
		return v, err
	}
	v.Note, v.Shares = strings.TrimSpace(is.Description), is.Metadata.Shares
	names, err := i.Snapshots(ctx)
	v.Snapshots = len(names)
	return v, err
}
