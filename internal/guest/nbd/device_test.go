package nbd

import (
	"context"
	"sync"
	"testing"
)

// TestMemoryCountsAChunkOnce fills a disk to its last chunk, of which several writers write every chunk at the same time.
func TestMemoryCountsAChunkOnce(t *testing.T) {
	const chunks, writers, rounds = 8, 8, 300
	for range rounds {
		m, err := NewMemory(chunks*chunkSize, chunks*chunkSize)
		if err != nil {
			t.Fatal(err)
		}
		var start, done sync.WaitGroup
		start.Add(1)
		for range writers {
			done.Go(func() {
				start.Wait()
				for i := range int64(chunks) {
					if err := m.Do(context.Background(), &Request{Operation: Write, Offset: i * chunkSize, Length: 3, Data: []byte("abc")}); err != nil {
						t.Errorf("chunk %d: %v", i, err)
					}
				}
			})
		}
		start.Done()
		done.Wait()
		if t.Failed() {
			return
		}
	}
}
