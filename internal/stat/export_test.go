package stat

// Normal is the generator of normal numbers, for the tests of rooms below.
type Normal = normal

// NewNormal starts it.
var NewNormal = newNormal

// Contains says whether v lies in the interval, ends included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Interval is the interval of the mean.
func (e Effect) Interval() Interval { return Interval{Low: e.Low, High: e.High} }
