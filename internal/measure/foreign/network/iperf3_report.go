package network

import (
	"encoding/json"
	"errors"
	"fmt"

	"plimsoll/internal/measure/foreign"
)

// iperfDocument is a whole report, or a line of --json-stream, which has one part of it.
type iperfDocument struct {
	iperfReport
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// iperfReports are the reports of a file. The events of a run become one.
func iperfReports(t *foreign.Text) ([]iperfReport, error) {
	documents, err := foreign.Documents[iperfDocument](t)
	if err != nil {
		return nil, err
	}
	var all []iperfReport
	var current *iperfReport // of the events read last
	for i := range documents {
		d := &documents[i]
		switch {
		case d.Event == "" && current != nil: // --json-stream-full-output repeats the run
			*current, current = d.iperfReport, nil
			continue
		case d.Event == "":
			all = append(all, d.iperfReport)
			continue
		case d.Event == "start" || current == nil:
			all = append(all, iperfReport{})
			current = &all[len(all)-1]
		}
		if err := current.add(d.Event, d.Data); err != nil {
			return nil, fmt.Errorf("line %d: event %q: %w", i+1, d.Event, err) // an event is a line
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it has no report")
	}
	return all, nil
}

// add takes over the data of an event. Those of intervals and of the server are skipped.
func (d *iperfReport) add(event string, data json.RawMessage) error {
	switch event {
	case "start":
		return json.Unmarshal(data, &d.Start)
	case "end":
		return json.Unmarshal(data, &d.End)
	case "error":
		return json.Unmarshal(data, &d.Error)
	}
	return nil
}

// directions sets the sums of both directions from those of the streams. Versions 3.7 to 3.11 give
// both the same names, so that those of the other direction are read last, and do not name the option.
func (d *iperfReport) directions() {
	var sent, received, reverse, udp iperfSum
	var forward, backward int
	for i := range d.End.Streams {
		s := &d.End.Streams[i]
		if s.UDP != nil {
			if s.UDP.FromClient == nil {
				return
			}
			if *s.UDP.FromClient {
				forward++
				udp.add(s.UDP)
				continue
			}
			backward++
			arrived := *s.UDP
			if arrived.Lost != nil && arrived.Packets > 0 {
				arrived.Bits *= 1 - min(1, max(0, *arrived.Lost)/arrived.Packets)
			}
			reverse.add(&arrived)
			continue
		}
		if s.Sender.FromClient == nil {
			return
		}
		if *s.Sender.FromClient {
			forward++
			sent.add(&s.Sender.iperfSum)
			received.add(&s.Receiver)
			continue
		}
		backward++
		reverse.add(&s.Receiver)
	}
	if forward == 0 || backward == 0 {
		return
	}
	d.Start.Test.Bidir = 1
	if d.End.ReverseReceived != nil {
		return
	}
	d.End.ReverseReceived = &reverse
	if udp.Packets > 0 {
		udp.mean(forward)
		d.End.Sum, d.End.Sent, d.End.Received = &udp, nil, nil
		return
	}
	d.End.Sent, d.End.Received = &sent, &received
}

// add sums rates and counts of a stream.
func (s *iperfSum) add(one *iperfSum) {
	total := func(to **float64, from *float64) {
		if from == nil {
			return
		}
		v := *from
		if *to != nil {
			v += **to
		}
		*to = &v
	}
	s.Seconds = max(s.Seconds, one.Seconds)
	s.Bits += one.Bits
	s.Packets += one.Packets
	total(&s.Retransmits, one.Retransmits)
	total(&s.Lost, one.Lost)
	total(&s.Jitter, one.Jitter)
}

// mean makes the jitter that of a stream, as iperf3 does.
func (s *iperfSum) mean(streams int) {
	if s.Jitter != nil {
		mean := *s.Jitter / float64(streams)
		s.Jitter = &mean
	}
}
