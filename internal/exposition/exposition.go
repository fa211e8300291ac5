// Package exposition writes metrics in the text format of Prometheus, version 0.0.4, and in OpenMetrics, version 1.0.0.
//
// Sources: Prometheus documentation, "Exposition formats"; OpenMetrics 1.0, "Data model" and "ABNF".
package exposition

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// The content types of the two formats.
const (
	Text        = "text/plain; version=0.0.4; charset=utf-8"
	OpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// Type is the type of a family.
type Type string

// The types. Info has the value 1, and its labels tell something.
const (
	Gauge   Type = "gauge"
	Counter Type = "counter"
	Info    Type = "info"
)

// Family is the samples of a metric. Its name has no suffix of its type; if it has a unit, it ends with that.
type Family struct {
	Name, Unit, Help string
	Type             Type
	// Samples with equal labels stand together, in the order of their times.
	Samples []Sample
}

// Sample is one value of a metric.
type Sample struct {
	Labels []string // name and value in turn
	Value  float64
	Time   time.Time // zero is the time at which it is read
}

// Add adds a sample without a time. Labels are name and value in turn; no two samples of a family may have the same.
func (f *Family) Add(value float64, labels ...string) {
	f.Samples = append(f.Samples, Sample{Labels: labels, Value: value})
}

// SampleName is the name of the samples: that of the family with the suffix of its type.
func (f *Family) SampleName() string { return f.Name + f.suffix() }

// suffix is what the names of samples end with.
func (f *Family) suffix() string {
	switch f.Type {
	case Counter:
		return "_total"
	case Info:
		return "_info"
	}
	return ""
}

// Write writes families with samples, in OpenMetrics or in the text format.
func Write(w io.Writer, families []Family, open bool) error {
	out := bufio.NewWriter(w)
	for i := range families {
		f := &families[i]
		if len(f.Samples) == 0 {
			continue
		}
		name, kind := f.Name, string(f.Type)
		if !open {
			name = f.SampleName()
			if f.Type == Info {
				kind = string(Gauge)
			}
		}
		fmt.Fprintf(out, "# TYPE %s %s\n", name, kind)
		if open && f.Unit != "" {
			fmt.Fprintf(out, "# UNIT %s %s\n", name, f.Unit)
		}
		if f.Help != "" {
			fmt.Fprintf(out, "# HELP %s %s\n", name, escaped(f.Help, open))
		}
		for _, s := range f.Samples {
			fmt.Fprintf(out, "%s%s %s%s\n", f.SampleName(), labelled(s.Labels), number(s.Value), stamp(s.Time, open))
		}
	}
	if open {
		fmt.Fprint(out, "# EOF\n")
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// stamp is a time after a value: seconds in OpenMetrics, milliseconds in the text format.
func stamp(t time.Time, open bool) string {
	switch {
	case t.IsZero():
		return ""
	case open:
		return " " + strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
	}
	return " " + strconv.FormatInt(t.UnixMilli(), 10)
}

func labelled(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; i+1 < len(labels); i += 2 {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(&b, `%s%s="%s"`, separator, labels[i], escaped(labels[i+1], true))
	}
	return b.String() + "}"
}

// escaped is a text on one line: of a label, or of HELP. The text format knows no escaped quote in HELP.
func escaped(text string, quotes bool) string {
	text = strings.ToValidUTF8(text, "�")
	text = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(text)
	if quotes {
		text = strings.ReplaceAll(text, `"`, `\"`)
	}
	return text
}

func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
