package local

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	data  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	// Cutting only at twice the limit makes each byte move once.
	if len(t.data) > 2*t.limit {
		t.data = append(t.data[:0], t.data[len(t.data)-t.limit:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte { return t.data[max(0, len(t.data)-t.limit):] }
