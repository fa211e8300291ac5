package hoststat

// The cumulative counters of each part of a State, in a fixed order.

// Counters are the cumulative counters, in a fixed order.
func (c *CPU) Counters() []*float64 {
	return []*float64{&c.User, &c.Nice, &c.System, &c.Idle, &c.IOWait, &c.IRQ, &c.SoftIRQ, &c.Steal, &c.Guest}
}

// Counters are the cumulative counters, in a fixed order.
func (d *Disk) Counters() []*float64 {
	return []*float64{
		&d.Reads, &d.ReadMerges, &d.ReadBytes, &d.ReadTime, &d.Writes, &d.WriteMerges, &d.WriteBytes, &d.WriteTime,
		&d.Flushes, &d.FlushTime, &d.Busy, &d.QueueTime, &d.Discards, &d.DiscardBytes,
	}
}

// Counters are the cumulative counters, in a fixed order.
func (l *Link) Counters() []*float64 {
	return []*float64{
		&l.ReceivedBytes, &l.ReceivedPackets, &l.ReceiveErrors, &l.ReceiveDrops, &l.SentBytes, &l.SentPackets, &l.SendErrors, &l.SendDrops,
	}
}

// Counters are the cumulative counters, in a fixed order.
func (p *Process) Counters() []*float64 {
	return []*float64{
		&p.User, &p.System, &p.Guest, &p.Minor, &p.Major, &p.BlockIO, &p.RunDelay, &p.Voluntary, &p.Involuntary,
		&p.ReadChars, &p.WriteChars, &p.ReadCalls, &p.WriteCalls, &p.ReadBytes, &p.WriteBytes,
		&p.Stopped, &p.Locked, &p.Contended, &p.Reaped, &p.Faulted,
	}
}

// Counters are the cumulative counters, in a fixed order.
func (t *Thread) Counters() []*float64 {
	return []*float64{&t.User, &t.System, &t.RunDelay, &t.Runs, &t.Voluntary, &t.Moves, &t.CacheMoves, &t.Locked, &t.Blocked}
}

// Counters are the cumulative counters of a cache.
func (c *Cache) Counters() []*float64 { return []*float64{&c.Bytes, &c.Local} }
