package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// wireInterval is the JSON form of an interval. Times are in nanoseconds and histograms in the
// encoding of MarshalText.
type wireInterval struct {
	From, To time.Duration
	Samples  []Sample
	Offer    Offer
	Latency  map[string]*Histogram `json:",omitempty"`
	Service  map[string]*Histogram `json:",omitempty"`
	Lag      *Histogram            `json:",omitempty"`
	Shares   []int64               `json:",omitempty"`
	Times    map[string]*Histogram `json:",omitempty"`
	Faults   map[string]int64      `json:",omitempty"`
}

// MarshalJSON writes the interval with its histograms.
func (i Interval) MarshalJSON() ([]byte, error) {
	w := wireInterval{From: i.From, To: i.To, Samples: i.Samples, Offer: i.Offer, Latency: histograms(i.latency), Service: histograms(i.service), Shares: i.Shares, Times: histograms(i.times), Faults: i.Faults}
	if i.lag != nil {
		w.Lag = i.lag.histogram()
	}
	return json.Marshal(w)
}

func histograms(at map[string]compact) map[string]*Histogram {
	out := map[string]*Histogram{}
	for class, c := range at {
		out[class] = c.histogram()
	}
	return out
}

// packedInterval is wireInterval with encoded histograms: a few bytes decode to hundreds of
// kilobytes.
type packedInterval struct {
	wireInterval
	Samples          []packedSample
	Latency, Service map[string]json.RawMessage
	Times            map[string]json.RawMessage
}

// packedSample has no histograms of its own on the wire.
type packedSample struct {
	Sample
	Latency, Service struct{}
}

// mostUnpacked bounds the operation classes whose histograms are decoded from one interval.
const mostUnpacked = 64

// UnmarshalJSON reads the output of MarshalJSON.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var w packedInterval
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("decode interval: %w", err)
	}
	if n := max(len(w.Latency), len(w.Service), len(w.Times)); n > mostUnpacked {
		return fmt.Errorf("decode interval: histograms of %d operation classes", n)
	}
	if n := len(w.Faults); n > mostFaults {
		return fmt.Errorf("decode interval: %d kinds of faults", n)
	}
	*i = Interval{From: w.From, To: w.To, Offer: w.Offer, Shares: w.Shares, Faults: w.Faults}
	for k := range w.Samples {
		s := w.Samples[k].Sample
		if err := errors.Join(unpack(w.Latency, s.Class, &s.Latency), unpack(w.Service, s.Class, &s.Service)); err != nil {
			return fmt.Errorf("decode interval: %w", err)
		}
		i.Samples = append(i.Samples, s)
	}
	i.Offer.Lag = w.Lag
	for name, text := range w.Times {
		h := NewHistogram()
		if err := json.Unmarshal(text, h); err != nil {
			return fmt.Errorf("decode interval: %w", err)
		}
		if i.Times == nil {
			i.Times = map[string]*Histogram{}
		}
		i.Times[name] = h
	}
	return nil
}

// unpack takes the histogram of a class out of those that are packed.
func unpack(packed map[string]json.RawMessage, class string, into **Histogram) error {
	text, known := packed[class]
	if !known {
		return nil
	}
	delete(packed, class)
	return json.Unmarshal(text, into)
}
