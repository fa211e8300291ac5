package measure

import (
	"encoding/json"
	"fmt"
	"time"
)

// wireInterval is an interval between two processes. Times are in nanoseconds
// and histograms in the encoding of MarshalText.
type wireInterval struct {
	From, To time.Duration
	Samples  []Sample
	Offer    Offer
	Latency  map[string]*Histogram `json:",omitempty"`
	Service  map[string]*Histogram `json:",omitempty"`
	Lag      *Histogram            `json:",omitempty"`
	Shares   []int64               `json:",omitempty"`
}

// MarshalJSON writes the interval with its histograms.
func (i Interval) MarshalJSON() ([]byte, error) {
	w := wireInterval{From: i.From, To: i.To, Samples: i.Samples, Offer: i.Offer, Latency: histograms(i.latency), Service: histograms(i.service), Shares: i.Shares}
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

// UnmarshalJSON reads what MarshalJSON wrote, as an interval that a recorder can
// take down.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var w wireInterval
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("decode interval: %w", err)
	}
	*i = Interval{From: w.From, To: w.To, Samples: w.Samples, Offer: w.Offer, Shares: w.Shares}
	for k := range i.Samples {
		s := &i.Samples[k]
		s.Latency, s.Service = w.Latency[s.Class], w.Service[s.Class]
	}
	i.Offer.Lag = w.Lag
	return nil
}
