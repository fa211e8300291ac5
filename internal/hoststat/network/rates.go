package network

import "slices"

// Rates is the interval from an earlier reading, nil if there is none, to this one: counters per
// second, gauges of this one.
func (s *State) Rates(before *State, perSecond float64) *State {
	if before == nil {
		before = s
	}
	n := *s
	n.Flows, n.Listeners, n.Queues, n.Softnet, n.Spaces = nil, nil, nil, nil, nil
	for _, f := range s.Flows {
		was := index(before.Flows, func(x *Flow) bool { return sameFlow(x, &f) })
		if was == nil {
			was = &Flow{}
		}
		n.Flows = append(n.Flows, f)
		rates(was.Counters(), n.Flows[len(n.Flows)-1].Counters(), perSecond)
	}
	for _, l := range s.Listeners {
		was := index(before.Listeners, func(x *Listener) bool { return sameListener(x, &l) })
		if was == nil {
			was = &Listener{Drops: l.Drops} // of a namespace found meanwhile, they may be old
		}
		rates(was.Counters(), l.Counters(), perSecond)
		n.Listeners = append(n.Listeners, l)
	}
	for _, q := range s.Queues {
		if was := index(before.Queues, func(x *Queue) bool { return x.Device == q.Device && x.Kind == q.Kind }); was != nil {
			rates(was.Counters(), q.Counters(), perSecond)
			n.Queues = append(n.Queues, q)
		}
	}
	for c, soft := range s.Softnet {
		if c < len(before.Softnet) {
			rates(before.Softnet[c].counters(), soft.counters(), perSecond)
			n.Softnet = append(n.Softnet, soft)
		}
	}
	n.Datagrams = nil
	for _, d := range s.Datagrams {
		was := index(before.Datagrams, func(x *Datagrams) bool { return x.Inode == d.Inode })
		if was == nil {
			was = &Datagrams{} // its first drops
		}
		if d.Drops = max(0, d.Drops-was.Drops) * perSecond; d.Drops > 0 {
			n.Datagrams = append(n.Datagrams, d)
		}
	}
	n.spaces(before, s, perSecond)
	n.Readings = max(0, n.Readings-before.Readings) * perSecond
	n.Conntrack.Drops = max(0, n.Conntrack.Drops-before.Conntrack.Drops) * perSecond
	return &n
}

func (s *State) spaces(before, now *State, perSecond float64) {
	for _, space := range now.Spaces {
		was := index(before.Spaces, func(x *Namespace) bool { return x.PID == space.PID })
		if was == nil {
			continue
		}
		rates := make(map[string]float64, len(space.Net))
		for name, value := range space.Net {
			rates[name] = max(0, value-was.Net[name]) * perSecond
		}
		s.Spaces = append(s.Spaces, Namespace{space.PID, space.Program, rates})
	}
}

// rates replaces later values by rates. A counter that decreased counts as 0.
func rates(before, now []*float64, perSecond float64) {
	for i := range now {
		*now[i] = max(0, *now[i]-*before[i]) * perSecond
	}
}

func index[T any](all []T, same func(*T) bool) *T {
	if i := slices.IndexFunc(all, func(x T) bool { return same(&x) }); i >= 0 {
		return &all[i]
	}
	return nil
}

func sameFlow(a, b *Flow) bool {
	return a.Space == b.Space && a.PID == b.PID && a.Port == b.Port && a.Peer == b.Peer
}

func sameListener(a, b *Listener) bool {
	return a.Space == b.Space && a.Port == b.Port && a.Address == b.Address
}

// Part is one of the intervals of a time.
type Part struct {
	*State
	Share float64 // of the time
}

// Average replaces the flows by their means over the parts of the time, those that have ended
// included, and so with the gauges of listening sockets and queues.
func (s *State) Average(parts []Part) {
	s.Flows = nil
	known := map[flowKey]int{}
	gauges := map[*float64]float64{}
	for _, part := range parts {
		for _, f := range part.Flows {
			key := flowKey{f.Space, f.PID, f.Port, f.Peer}
			at, ok := known[key]
			if !ok {
				at = len(s.Flows)
				known[key] = at
				s.Flows = append(s.Flows, Flow{})
			}
			sums := s.Flows[at]
			to := &s.Flows[at]
			*to = f
			to.Connections = sums.Connections + f.Connections*part.Share
			to.SendWindow = max(sums.SendWindow, f.SendWindow)
			to.SendBuffer, to.ReceiveBuffer = max(sums.SendBuffer, f.SendBuffer), max(sums.ReceiveBuffer, f.ReceiveBuffer)
			was, now := sums.Counters(), f.Counters()
			for i, counter := range to.Counters() {
				*counter = *was[i] + *now[i]*part.Share
			}
		}
		gather(gauges, part.State, s, part.Share)
	}
	for gauge, value := range gauges {
		*gauge = value
	}
}

// gather adds the gauges of an interval to their means.
func gather(means map[*float64]float64, one, mean *State, share float64) {
	for i := range mean.Listeners {
		to := &mean.Listeners[i]
		if from := index(one.Listeners, func(x *Listener) bool { return sameListener(x, to) }); from != nil {
			means[&to.Queue] += from.Queue * share
			means[&to.Connections] += from.Connections * share
		}
	}
	for i := range mean.Queues {
		to := &mean.Queues[i]
		if from := index(one.Queues, func(x *Queue) bool { return x.Device == to.Device }); from != nil {
			means[&to.Packets] += from.Packets * share
			means[&to.Bytes] += from.Bytes * share
		}
	}
}
