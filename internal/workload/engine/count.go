package engine

// Count counts retries and failures of transactions on a connection.
type Count struct {
	Retries  int64  // of victims of deadlocks and serialization failures
	Failures int64  // for other reasons
	Why      string // the reason of the first failure
}

// Note counts a failure.
func (c *Count) Note(why string) {
	if c.Failures++; c.Why == "" {
		c.Why = why
	}
}

// Add adds the counts of another connection.
func (c *Count) Add(o Count) {
	c.Retries += o.Retries
	c.Failures += o.Failures
	if c.Why == "" {
		c.Why = o.Why
	}
}
