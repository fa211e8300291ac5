package vswitch

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// capture writes frames as a pcap file. It has a queue like a port's: a slow disk loses frames of the capture, and no others.
type capture struct {
	to      io.Writer
	snap    int
	queue   *queue
	dropped atomic.Uint64
	done    sync.WaitGroup
	err     error // of the writer; read after done
}

// The file format: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html, with nanoseconds.
const (
	pcapMagic    = 0xa1b23c4d
	pcapEthernet = 1
)

func newCapture(to io.Writer, snap, limit int) *capture {
	if snap <= 0 || snap > LongestFrame {
		snap = LongestFrame
	}
	c := &capture{to: to, snap: snap, queue: newQueue(limit)}
	head := binary.LittleEndian.AppendUint32(nil, pcapMagic)
	head = binary.LittleEndian.AppendUint16(head, 2)
	head = binary.LittleEndian.AppendUint16(head, 4)
	head = append(head, make([]byte, 8)...)
	head = binary.LittleEndian.AppendUint32(head, uint32(snap))
	head = binary.LittleEndian.AppendUint32(head, pcapEthernet)
	c.queue.put(head, nil)
	c.done.Go(c.write)
	return c
}

// frame notes a frame with the time now.
func (c *capture) frame(frame []byte) {
	at := time.Now()
	var head [16]byte
	binary.LittleEndian.PutUint32(head[:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(head[4:], uint32(at.Nanosecond()))
	binary.LittleEndian.PutUint32(head[8:], uint32(min(len(frame), c.snap)))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(frame)))
	ok, wake := c.queue.put(head[:], frame[:min(len(frame), c.snap)])
	if !ok {
		c.dropped.Add(1)
	}
	if wake {
		c.queue.wake()
	}
}

func (c *capture) write() {
	var spare []byte
	for {
		batch, n := c.queue.take(spare)
		if n == 0 {
			return
		}
		if c.err == nil {
			_, c.err = c.to.Write(batch)
		}
		spare = batch
	}
}

func (c *capture) close() error {
	c.queue.close()
	c.done.Wait()
	if c.err != nil {
		return fmt.Errorf("capture frames: %w", c.err)
	}
	return nil
}
