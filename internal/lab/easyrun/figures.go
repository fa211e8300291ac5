package easyrun

import (
	"fmt"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// Ceiling is what this host's own disks carry of a job.
type Ceiling struct {
	IOPS float64  `json:"iops"`          // of files
	Rate float64  `json:"ceiling"`       // IOPS of images at which their operations on disks are those of files
	P95  *float64 `json:"p95,omitempty"` // of files
}

// Share is the rate as a share of the ceiling.
type Share struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low,omitempty"` // of the interval; 0 without one
	High  float64 `json:"high,omitempty"`
	Level float64 `json:"level,omitempty"`
}

// Peak is the highest rate within the latency target, in 1/s.
type Peak struct {
	Estimate float64 `json:"estimate,omitempty"`
	Low      float64 `json:"low,omitempty"` // of its interval
	High     float64 `json:"high,omitempty"`
	Level    float64 `json:"level,omitempty"`
	Kept     float64 `json:"kept,omitempty"`   // highest rate that met the limit
	Failed   float64 `json:"failed,omitempty"` // lowest rate that missed it
	Sentence string  `json:"sentence,omitempty"`
}

func peakOf(p *finding.Peak, level float64) *Peak {
	out := &Peak{Kept: max(p.MaxPass, p.Sustained), Failed: p.MinFail, Sentence: p.Sentence.Text}
	if p.Estimate > 0 {
		out.Estimate, out.Low, out.High, out.Level = p.Estimate, p.Low, p.High, level
	}
	return out
}

// best is the rate to state: the estimate, else what was kept; nil without.
func (p *Peak) best() *float64 {
	switch {
	case p.Estimate > 0:
		return &p.Estimate
	case p.Kept > 0:
		return &p.Kept
	}
	return nil
}

func (p *Peak) text() string {
	switch {
	case p.Estimate > 0 && p.Low > 0 && p.High > p.Low:
		value, between := report.Interval(p.Estimate, p.Low, p.High, "1/s")
		return fmt.Sprintf("%s (%s)", value, between)
	case p.Estimate > 0:
		return fmt.Sprintf("%s (%s)", report.Quantity(p.Estimate, "1/s"), report.NoInterval)
	case p.Kept > 0:
		return "≥ " + report.Quantity(p.Kept, "1/s")
	case p.Failed > 0:
		return "< " + report.Quantity(p.Failed, "1/s")
	}
	return "–"
}

// figures are those of a job, of which one metric is its rate.
type figures struct {
	*finding.Findings
	rate string
}

func (f figures) peak(arm int) *finding.Peak {
	for i := range f.Peaks {
		if f.Peaks[i].Arm == arm {
			return &f.Peaks[i]
		}
	}
	return nil
}

func (f figures) mean(metric string, arm int) *float64 {
	if s := f.Summary(metric, arm); s != nil {
		return &s.Mean
	}
	return nil
}

// ceiling is what the files of a job carry, and the share of the images in it. Its interval is that of their comparison.
func (f figures) ceiling(r *Row, copies float64) (*Ceiling, *Share) {
	const files, images = 0, 1
	iops := f.mean(f.rate, files)
	c := &Ceiling{P95: f.mean("p95", files)}
	if p := f.peak(files); p != nil {
		c.P95 = nil // each trial has those of many loads
		if iops = nil; p.Estimate > 0 {
			iops = &p.Estimate
		}
	}
	if iops == nil || *iops <= 0 {
		return nil, nil
	}
	each := r.DeviceOperations(copies)
	c.IOPS, c.Rate = *iops, *iops/each
	if r.Rate == nil || r.Peak != nil && r.Peak.Estimate == 0 {
		return c, nil
	}
	for i := range f.Headlines {
		if h := &f.Headlines[i]; h.Arm == images && h.Metric.Name == f.rate && h.Blocks > 0 && !h.NoInterval {
			return c, &Share{Value: h.Ratio * each, Low: h.Low * each, High: h.High * each, Level: h.Level}
		}
	}
	return c, &Share{Value: *r.Rate / c.Rate}
}

func (s *Share) text() string {
	switch {
	case s == nil:
		return "–"
	case s.Level == 0:
		return quantity.Share(quantity.Round(s.Value, 2))
	}
	return fmt.Sprintf("%s (%s to %s)", quantity.Share(quantity.Round(s.Value, 2)), quantity.Share(quantity.Round(s.Low, 2)), quantity.Share(quantity.Round(s.High, 2)))
}
