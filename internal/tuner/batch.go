package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/hoststat/tenants"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/restore"
	"plimsoll/internal/trial/setting"
)

// emptyPolls is the number of polls without a packet after which an interface waits for an
// interrupt again. Each lasts as long as packets may wait.
const emptyPolls = 100

// batcher batches the network work of interfaces. It writes each change to the undo log before
// it makes it.
type batcher struct {
	inventory *machines.Inventory
	journal   *journal.Journal
	links     func() ([]tenants.Link, error)
	only      []string      // interfaces; empty for all that carry the traffic of VMs
	hold      time.Duration // for which packets may wait

	known map[string]*known // interfaces, by name
}

// known is what is known of an interface that is batched, or was to be.
type known struct {
	index int    // of the interface: that of a VM which has restarted has another one
	free  func() // releases the claim on its settings; nil without one
	way   int    // in which it is batched
	note  string // what was last said of it
}

func (k *known) release() {
	if k.free != nil {
		k.free()
	}
}

// want is a setting of an interface with the level that batches.
type want struct {
	factor factor.Factor
	level  string
}

// batching are the factors that a tuner changes. Restore finds them by name.
func batching() []factor.Factor {
	return []factor.Factor{factor.InterruptCoalescing(), factor.GROFlushTimeout(), factor.NAPIDeferral()}
}

// ways are how an interface can be batched, the best first: a device delays its interrupts
// itself; for others the kernel polls at intervals in place of interrupts.
func (b *batcher) ways(l tenants.Link) [][]want {
	level := parameter.Duration(b.hold).String()
	kernel := []want{{factor.GROFlushTimeout(), level}, {factor.NAPIDeferral(), strconv.Itoa(emptyPolls)}}
	if l.Physical {
		return [][]want{{{factor.InterruptCoalescing(), level}}, kernel}
	}
	return [][]want{kernel}
}

// carries reports whether an interface is batched: a network card, and the host's end of the
// cable of a VM or container.
func (b *batcher) carries(l tenants.Link) bool {
	if len(b.only) > 0 {
		return slices.Contains(b.only, l.Name)
	}
	return l.Up && !l.Loopback && (l.Physical || l.Kind == "tun" || l.Kind == "veth" && l.Namespace >= 0)
}

// unable is why the kernel cannot batch an interface; empty where it can.
func unable(l tenants.Link) string {
	switch {
	case l.NAPI:
		return ""
	case l.Kind == "veth":
		return fmt.Sprintf("a veth device is batched only with generic receive offload: ethtool -K %s gro on", l.Name)
	case l.Kind == "tun":
		return "a TAP device is batched only if its program opened it with IFF_NAPI"
	}
	return "its packets are not polled (NAPI), so that the kernel cannot batch them"
}

// Left reports whether something is to be put back.
func (b *batcher) Left() bool { return !b.journal.Undo.None() }

// On batches each interface that can be.
func (b *batcher) On(ctx context.Context) outcome {
	links, err := b.links()
	if err != nil {
		return outcome{err: err}
	}
	out := b.forget(links)
	for _, l := range links {
		if !b.carries(l) {
			continue
		}
		why := unable(l)
		if why == "" {
			lines, err := b.batch(ctx, l)
			out.changes = append(out.changes, lines...)
			if err != nil {
				why = err.Error()
			}
		}
		k := b.about(l)
		if why != "" && why != k.note {
			out.notes = append(out.notes, fmt.Sprintf("%s is left alone: %s", l.Name, why))
		}
		k.note = why
	}
	return out
}

// Off puts back all settings, newest first. A setting that another program has changed since is
// left alone.
func (b *batcher) Off(ctx context.Context) outcome {
	r := restore.New(b.inventory, b.journal, 0, "")
	r.Settings(ctx)
	if !b.Left() {
		b.release()
	}
	return outcome{changes: r.Done, err: r.Failed()}
}

// about is what is known of an interface.
func (b *batcher) about(l tenants.Link) *known {
	if b.known[l.Name] == nil {
		b.known[l.Name] = &known{index: l.Index}
	}
	return b.known[l.Name]
}

// release gives up all claims.
func (b *batcher) release() {
	for _, k := range b.known {
		k.release()
	}
	clear(b.known)
}

// forget enters the settings of interfaces that are gone: they ended with them.
func (b *batcher) forget(links []tenants.Link) (out outcome) {
	there := func(name string) bool {
		return slices.ContainsFunc(links, func(l tenants.Link) bool {
			return l.Name == name && (b.known[name] == nil || b.known[name].index == l.Index)
		})
	}
	for _, c := range slices.Clone(b.journal.Undo.Settings) {
		if there(c.Target) {
			continue
		}
		entry := c.Back(c.Former)
		said := c.Name() + " ended with its interface"
		out.err = errors.Join(out.err, b.journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &entry, Note: said}))
		out.changes = append(out.changes, said)
	}
	for name, k := range b.known {
		if !there(name) {
			k.release()
			delete(b.known, name)
		}
	}
	return out
}

// errForeign is the error of a setting that another program has changed.
var errForeign = errors.New("another program changed it")

// batch brings the settings of an interface to the levels that batch, in the first way that it
// takes.
func (b *batcher) batch(ctx context.Context, l tenants.Link) (lines []string, err error) {
	ways := b.ways(l)
	k := b.about(l)
	if err := b.claim(ctx, l, ways); err != nil {
		return nil, err
	}
	var refused error
	for i := k.way; i < len(ways); i++ {
		lines = nil
		err = nil
		for _, w := range ways[i] {
			var line string
			if line, err = b.bring(ctx, w, l.Name); err != nil {
				break
			}
			if line != "" {
				lines = append(lines, line)
			}
		}
		if err == nil {
			k.way = i
			return lines, nil
		}
		if errors.Is(err, errForeign) || ctx.Err() != nil {
			return lines, err
		}
		refused = errors.Join(refused, err)
		if err := b.undo(ctx, l.Name); err != nil {
			return nil, errors.Join(refused, err)
		}
	}
	return nil, refused
}

// claim keeps runs of studies from the settings of an interface.
func (b *batcher) claim(ctx context.Context, l tenants.Link, ways [][]want) error {
	k := b.about(l)
	c, ok := b.inventory.Machine.(platform.Claimer)
	if !ok || k.free != nil {
		return nil
	}
	var names []string
	for _, w := range slices.Concat(ways...) {
		effect, err := w.factor.EffectAt(ctx, factor.Env{Machine: b.inventory.Machine, Target: l.Name})
		if err != nil {
			return err
		}
		names = append(names, slices.Concat(effect.Sets, effect.Coupled)...)
	}
	begin := b.journal.Begin()
	free, err := c.Claim(ctx, platform.Claim{Run: begin.Run, Dir: begin.Dir, Log: b.journal.UndoLog(begin.Run), Names: names})
	if err == nil {
		k.free = free
	}
	return err
}

// bring brings one setting to its level, and says so. A setting that has it already is not
// written.
func (b *batcher) bring(ctx context.Context, w want, name string) (line string, err error) {
	at := factor.Env{Machine: b.inventory.Machine, Target: name}
	full := study.Factor{Name: w.factor.Name, Target: name}.FullName()
	level, err := w.factor.Accept(ctx, at, w.level)
	if err != nil {
		return "", err
	}
	now, err := w.factor.Get(ctx, at)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", full, err)
	}
	if now == level {
		return "", nil
	}
	entry := journal.Setting{Factor: w.factor.Name, Target: name, Former: now, Level: level}
	if c := b.journal.Outstanding(&entry); c != nil && !c.Midway && now != c.Former && !slices.Contains(c.Ours, now) {
		return "", fmt.Errorf("%s is at %q: %w", full, now, errForeign)
	}
	effect, err := w.factor.EffectAt(ctx, at)
	if err != nil {
		return "", err
	}
	if entry.Coupled, err = factor.ReadCoupled(ctx, at.Machine, effect.Coupled); err != nil {
		return "", err
	}
	if err := b.journal.Append(journal.Entry{Kind: journal.KindChange, Setting: &entry}); err != nil {
		return "", err
	}
	b.journal.Step("before set")
	if err := w.factor.Set(ctx, at, level); err != nil {
		return "", fmt.Errorf("set %s to %q: %w", full, level, err)
	}
	b.journal.Step("after set")
	if entry.Seen, err = w.factor.Get(ctx, at); err != nil {
		return "", fmt.Errorf("read %s back: %w", full, err)
	}
	if entry.Coupled, err = factor.ReadCoupled(ctx, at.Machine, effect.Coupled); err != nil {
		return "", err
	}
	if err := b.journal.Append(journal.Entry{Kind: journal.KindChanged, Setting: &entry}); err != nil {
		return "", err
	}
	if entry.Seen != level {
		return "", fmt.Errorf("%s reads %q after it was set to %q", full, entry.Seen, level)
	}
	return fmt.Sprintf("%s set from %q to %q", full, now, level), nil
}

// undo puts back the settings of one interface.
func (b *batcher) undo(ctx context.Context, name string) error {
	for _, c := range slices.Backward(slices.Clone(b.journal.Undo.Settings)) {
		if c.Target != name {
			continue
		}
		s, err := setting.Of(b.inventory, c.Factor, c.Target, c.Machine)
		if err == nil {
			err = s.ReturnTo(ctx, c.Former, c.Coupled)
		}
		if err != nil {
			return fmt.Errorf("restore %s to %q: %w", c.Name(), c.Former, err)
		}
		entry := c.Back(c.Former)
		if err := b.journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &entry}); err != nil {
			return err
		}
	}
	return nil
}
