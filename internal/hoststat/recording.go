package hoststat

// Recording is what was seen of a host over a time. It is what a host sends to whoever
// diagnoses it.
type Recording struct {
	Facts     *Facts     `json:"facts"`
	Mean      *Interval  `json:"mean"`
	Intervals []Interval `json:"intervals"`
}
