package parameter

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size, written with its unit: 4KiB, 512MiB, 1GB, 512B.
type Bytes int64

// Share is a part of a whole between 0 and 1, written in percent: 70%.
type Share float64

// Rate is a number of events per second, written 5000/s or 300/min.
type Rate float64

// Duration is a span of time, written 250ms, 10s, 5m or 1h30m.
type Duration time.Duration

var byteUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// UnmarshalText reads a size with its unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	want := errors.New("a size with its unit, like 4KiB")
	s := strings.TrimSpace(string(text))
	for _, u := range byteUnits {
		number, found := strings.CutSuffix(s, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		size := n * float64(u.size)
		if err != nil || !(size >= 0 && size < math.MaxInt64) || size != math.Trunc(size) {
			return want
		}
		*b = Bytes(size)
		return nil
	}
	return want
}

// String writes the size exactly, with the unit of which it is the smallest number: 512MiB, 10MB.
func (b Bytes) String() string {
	best, name := int64(b), "B"
	for _, u := range byteUnits {
		if n := int64(b) / u.size; b > 0 && int64(b)%u.size == 0 && n < best {
			best, name = n, u.name
		}
	}
	return strconv.FormatInt(best, 10) + name
}

// About writes the size with three digits: 23.5GiB.
func (b Bytes) About() string {
	for _, u := range byteUnits[:4] {
		if n := float64(b) / float64(u.size); n >= 1 {
			return strconv.FormatFloat(n, 'f', max(0, 2-int(math.Log10(n))), 64) + u.name
		}
	}
	return b.String()
}

// UnmarshalText reads a percentage.
func (s *Share) UnmarshalText(text []byte) error {
	number, found := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !found || err != nil || !(n >= 0 && n <= 100) {
		return errors.New("a percentage from 0% to 100%, like 70%")
	}
	*s = Share(n / 100)
	return nil
}

// String writes the share in percent.
func (s Share) String() string {
	return strconv.FormatFloat(math.Round(float64(s)*1e10)/1e8, 'f', -1, 64) + "%"
}

var rateUnits = []struct {
	name    string
	seconds float64
}{{"/s", 1}, {"/min", 60}, {"/h", 3600}}

// UnmarshalText reads a number of events per second, minute or hour.
func (r *Rate) UnmarshalText(text []byte) error {
	for _, u := range rateUnits {
		number, found := strings.CutSuffix(strings.TrimSpace(string(text)), u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err == nil && n > 0 && n <= 1e12 {
			*r = Rate(n / u.seconds)
			return nil
		}
	}
	return errors.New("a rate, like 5000/s")
}

// String writes the rate per second.
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }

// UnmarshalText reads a span of time, which is never negative.
func (d *Duration) UnmarshalText(text []byte) error {
	n, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil || n < 0 {
		return errors.New("a time with its unit, like 10s or 250ms")
	}
	*d = Duration(n)
	return nil
}

// String writes the span in the shortest form: 10s, 1m30s, 250ms.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the size as String does.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// MarshalText writes the share as String does.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the rate as String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText writes the span as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
