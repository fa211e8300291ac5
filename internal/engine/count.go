package engine

// Count is what went wrong on a connection.
type Count struct {
	Retries  int64  // transactions that were tried again
	Troubles int64  // and that the server refused, without a victim being why
	Why      string // of the first of them
}

// Note takes down a trouble.
func (c *Count) Note(why string) {
	if c.Troubles++; c.Why == "" {
		c.Why = why
	}
}

// Add adds those of another connection.
func (c *Count) Add(o Count) {
	c.Retries += o.Retries
	c.Troubles += o.Troubles
	if c.Why == "" {
		c.Why = o.Why
	}
}
