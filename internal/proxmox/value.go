package proxmox

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Number is a number, which the API writes as one or as text. What is neither is 0.
type Number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	s := strings.Trim(string(text), `"`)
	switch s {
	case "true":
		s = "1"
	case "false", "null":
		s = "0"
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		x = 0
	}
	*n = Number(x)
	return nil
}

// Int is the number as a whole one, from 0 to a most.
func (n Number) Int(most int64) int64 {
	return int64(min(max(float64(n), 0), float64(most)))
}

// Word is text, which the API may write as a number.
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Word) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	if s == "null" {
		s = ""
	}
	*w = Word(s)
	return nil
}

// Properties splits a property string such as virtio=AA:BB,bridge=vmbr0. A part without a
// name has the name "".
func Properties(text string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, value = "", name
		}
		if _, twice := all[name]; !twice {
			all[name] = value
		}
	}
	return all
}
