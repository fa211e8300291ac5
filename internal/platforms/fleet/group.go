package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Members are the machines of agents with the labels of each group that are in no other group, by
// name; machines that a group already has come first. It waits for missing agents as long
// as the settings say.
func (f *fleet) Members(ctx context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return platform.InTurn(groups, func(g platform.Group) ([]platform.Machine, error) { return f.members(ctx, g) })
}

func (f *fleet) members(ctx context.Context, g platform.Group) ([]platform.Machine, error) {
	s, wanted, err := f.settingsOf(g)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.groups[g.Name]
	own = own[:min(len(own), g.Machines)]
	ctx, cancel := f.patience(ctx, s)
	defer cancel()
	c := choice{fleet: f, group: g.Name, wanted: wanted, own: own, number: g.Machines}
	if all, err := f.room.Lab.AwaitAll(ctx, c.made); err != nil {
		return nil, fmt.Errorf("%s: %w", c.missing(all), err)
	}
	if err := c.distinct(); err != nil {
		return nil, err
	}
	for _, m := range c.fresh {
		own = append(slices.Clip(own), f.machine(m))
	}
	f.groups[g.Name] = own
	members := make([]platform.Machine, len(own))
	for i, m := range own {
		members[i] = m
	}
	return members, nil
}

// settingsOf are the settings of a group: those of the platform, overridden by its own.
func (f *fleet) settingsOf(g platform.Group) (Settings, map[string]string, error) {
	s := f.settings
	if g.Machines < 0 {
		return s, nil, fmt.Errorf("%s cannot have %d machines", groupName(g.Name), g.Machines)
	}
	own := Settings{Labels: s.Labels, Wait: s.Wait}
	if err := parameter.Decode(&own, g.Settings); err != nil {
		return s, nil, fmt.Errorf("%s: %w", groupName(g.Name), err)
	}
	for name := range g.Settings {
		if name != "labels" && name != "wait" {
			return s, nil, fmt.Errorf("%s: %s is the same for all groups of a fleet: a group has labels and wait of its own", groupName(g.Name), name)
		}
	}
	s.Labels, s.Wait = own.Labels, own.Wait
	wanted, err := fabric.ParseLabels(s.Labels)
	if err != nil {
		return s, nil, fmt.Errorf("%s: %w", groupName(g.Name), err)
	}
	return s, wanted, nil
}

func groupName(name string) string {
	if name == "" {
		return "the study"
	}
	return "group " + name
}

// choice chooses the machines of a group among those that have joined.
type choice struct {
	fleet  *fleet
	group  string
	wanted map[string]string
	own    []*machine // that it has already
	number int        // wanted

	fresh []fabric.Member // to be added
}

// made chooses machines, and is true if there are enough.
func (c *choice) made(all []fabric.Member) bool {
	c.fresh = c.fresh[:0]
	for _, o := range all {
		if len(c.own)+len(c.fresh) < c.number && fabric.Matches(o.Labels, c.wanted) && !c.has(o) && c.holder(o) == nil {
			c.fresh = append(c.fresh, o)
		}
	}
	return len(c.own)+len(c.fresh) == c.number && len(c.gone(all)) == 0
}

func (c *choice) has(o fabric.Member) bool {
	return slices.ContainsFunc(c.own, func(m *machine) bool { return m.member.ID == o.ID })
}

// holder is the name of the other group that has an agent.
func (c *choice) holder(o fabric.Member) *string {
	for name, machines := range c.fleet.groups {
		if name != c.group && slices.ContainsFunc(machines, func(m *machine) bool { return m.member.ID == o.ID }) {
			return &name
		}
	}
	return nil
}

// distinct requires unique names of machines, under which results are stored.
func (c *choice) distinct() error {
	names := map[string]string{}
	for _, m := range c.fleet.machines {
		names[m.Name()] = m.member.ID
	}
	for _, o := range c.fresh {
		if other, known := names[o.Name]; known && other != o.ID {
			return fmt.Errorf("%s: two agents are called %s: start one of them with another --name", groupName(c.group), o.Name)
		}
		names[o.Name] = o.ID
	}
	return nil
}

// gone are the names of machines of the group whose agents have left.
func (c *choice) gone(all []fabric.Member) (names []string) {
	for _, m := range c.own {
		if !m.joined(all) {
			names = append(names, m.Name())
		}
	}
	return names
}

// missing is the error of an incomplete group.
func (c *choice) missing(all []fabric.Member) error {
	text := fmt.Sprintf("%s needs %d agents with %s", groupName(c.group), c.number, fabric.LabelText(c.wanted))
	if len(c.wanted) == 0 {
		text = fmt.Sprintf("%s needs %d agents", groupName(c.group), c.number)
	}
	if gone := c.gone(all); len(gone) > 0 {
		text += fmt.Sprintf(": %s went away and did not come back", strings.Join(gone, ", "))
	}
	if missing := c.number - len(c.own) - len(c.fresh); missing > 0 {
		text += fmt.Sprintf(": %d are missing", missing)
	}
	var have, elsewhere []string
	for _, m := range c.own {
		have = append(have, m.Name())
	}
	for _, o := range all {
		if name := c.holder(o); name != nil && fabric.Matches(o.Labels, c.wanted) {
			elsewhere = append(elsewhere, fmt.Sprintf("%s (%s)", o.Name, groupName(*name)))
		}
	}
	for _, o := range c.fresh {
		have = append(have, o.Name)
	}
	if len(have) > 0 {
		text += fmt.Sprintf("; it has %s", strings.Join(have, ", "))
	}
	if len(elsewhere) > 0 {
		text += fmt.Sprintf("; others have %s", strings.Join(elsewhere, ", "))
	}
	return errors.New(text)
}
