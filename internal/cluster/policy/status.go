package policy

import "fmt"

// Status is the status of an object, or of a VM.
type Status uint8

// The statuses from best to worst: a VM has the worst of its objects. Unknown is worse than
// out of date, since the object may not comply.
const (
	NotApplicable Status = iota // no policy, or one without requirements
	Compliant
	OutOfDate    // the policy changed since it was applied
	Unknown      // cannot be judged
	NonCompliant // every set of the policy has a violated rule
	statuses     // number of statuses
)

var statusNames = [statuses]string{"notApplicable", "compliant", "outOfDate", "unknown", "nonCompliant"}

// String is the name of the status in the vSphere API.
func (s Status) String() string {
	if s >= statuses {
		return "status " + fmt.Sprint(uint8(s))
	}
	return statusNames[s]
}

// MarshalText is String, for JSON.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (s *Status) UnmarshalText(text []byte) error {
	for i, name := range statusNames {
		if name == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("read compliance status: %q is not one of %q", text, statusNames)
}

// Counts are the numbers of objects by status.
type Counts struct {
	Compliant     int `json:"compliant"`
	NonCompliant  int `json:"nonCompliant"`
	Unknown       int `json:"unknown"`
	OutOfDate     int `json:"outOfDate"`
	NotApplicable int `json:"notApplicable"`
}

// All is the sum.
func (c Counts) All() int {
	return c.Compliant + c.NonCompliant + c.Unknown + c.OutOfDate + c.NotApplicable
}

// tally counts by status.
type tally [statuses]int

func (t *tally) counts() Counts {
	return Counts{
		Compliant: t[Compliant], NonCompliant: t[NonCompliant], Unknown: t[Unknown],
		OutOfDate: t[OutOfDate], NotApplicable: t[NotApplicable],
	}
}
