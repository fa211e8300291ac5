package service

import (
	"bytes"
	"context"
	"fmt"
	"path"
)

// Logged is the output and the log of the daemon since the last call.
func (r *Running) Logged(ctx context.Context) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || r.stopped {
		return nil
	}
	return r.process.news(ctx)
}

func (p *process) news(ctx context.Context) []byte {
	fresh := p.printed.news()
	for _, name := range []string{p.log, p.diary} {
		if name == "" {
			continue
		}
		data, err := p.env.Machine.ReadFile(ctx, path.Join(p.env.Dir, name))
		if err != nil {
			continue
		}
		from := max(min(p.read[name], len(data)), len(data)-keptOutput)
		p.read[name] = len(data)
		fresh = append(fresh, data[from:]...)
	}
	return fresh
}

// Logged is the log of the servers, one after the other.
func (s *servers) Logged(ctx context.Context) []byte {
	var all bytes.Buffer
	running := s.now()
	for i, one := range running {
		of, ok := one.(Logging)
		if !ok {
			continue
		}
		text := of.Logged(ctx)
		if len(running) > 1 && len(text) > 0 {
			fmt.Fprintf(&all, "server %d of %d:\n", i+1, len(running))
		}
		all.Write(text)
	}
	return all.Bytes()
}
