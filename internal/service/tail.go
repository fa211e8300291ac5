package service

import (
	"slices"
	"sync"
)

const keptOutput = 64 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
	came int64 // bytes in total
	told int64 // bytes up to the last call of news
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	t.came += int64(len(p))
	if len(t.data) > 2*keptOutput {
		t.data = append(t.data[:0], t.data[len(t.data)-keptOutput:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.data)
}

// news is the output since the last call, as far as it was kept.
func (t *tail) news() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := t.data[max(0, len(t.data)-int(min(t.came-t.told, keptOutput))):]
	t.told = t.came
	return slices.Clone(fresh)
}
