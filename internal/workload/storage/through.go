package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"plimsoll/internal/nbd"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

const (
	straight = "none" // fio opens the disks itself
	served   = "nbd"  // through a server without a filter
)

// filters are those of the servers, the first nearest to fio; known is false where there
// are no servers.
func (p *pattern) filters() (all []string, known bool) {
	switch p.Through {
	case straight, "":
		return nil, false
	case served:
		return nil, true
	}
	return strings.Fields(p.Through), true
}

// refuseThrough finds what does not go together with a server.
func refuseThrough(p *pattern) error {
	all, serving := p.filters()
	if !serving {
		if p.Engine == "nbd" {
			return errors.New("engine nbd requires through, the filters of plimsoll's server: as in through: null, or through: nbd for none")
		}
		return nil
	}
	for _, f := range all {
		if _, err := nbd.ParseFilter(strings.TrimPrefix(f, "daemon:")); err != nil {
			return fmt.Errorf("through: %w; or none, or nbd, which is a server without a filter", err)
		}
	}
	switch {
	case p.Engine != "auto" && p.Engine != "nbd":
		return fmt.Errorf("through %s: fio reaches the server with its engine nbd, not %s: omit engine", p.Through, p.Engine)
	case len(p.Targets) > 0:
		return fmt.Errorf("through %s: the server serves files of plimsoll's own only: omit targets", p.Through)
	}
	return nil
}

// socketOf is where the server of a disk listens.
func socketOf(path string) string { return path + ".sock" }

// uriOf is how fio's engine nbd calls it.
func uriOf(path string) string {
	return "nbd+unix:///?socket=" + (&url.URL{Path: socketOf(path)}).EscapedPath()
}

// checkThrough says what the machine lacks for a server.
func (d *disks) checkThrough(ctx context.Context, env workload.Env) error {
	if _, serving := d.pattern.filters(); !serving {
		return nil
	}
	const longest = 107 // bytes in the address of a unix socket
	if path := socketOf(ownDisk(env, d.pattern.Disks-1)); len(path) > longest {
		return fmt.Errorf("through %s: %s is too long for a unix socket: take a shorter folder (--out)", d.pattern.Through, path)
	}
	_, err := self(ctx, env, d.pattern.Through)
	return err
}

func self(ctx context.Context, env workload.Env, through string) (string, error) {
	carrier, ok := env.Machine.(platform.Carrier)
	if !ok {
		return "", fmt.Errorf("through %s: machine %s holds no copy of plimsoll to serve disks: set through: none", through, env.Machine.Name())
	}
	return carrier.Self(ctx)
}

// diskServer serves one disk for the time of one load.
type diskServer struct {
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan struct{}
	used  time.Duration // CPU time, with that of its filters; valid once it has ended
	err   error
}

// serve starts a server for each disk; none where there is nothing to go through.
func (d *disks) serve(ctx context.Context, env workload.Env, on []disk) (all []*diskServer, err error) {
	filters, serving := d.pattern.filters()
	if !serving {
		return nil, nil
	}
	program, err := self(ctx, env, d.pattern.Through)
	if err != nil {
		return nil, err
	}
	for _, one := range on {
		s := begin(ctx, env.Machine, program)
		all = append(all, s)
		_, err := s.in.Write(nbd.Order{Path: socketOf(one.path), File: one.path, Filters: filters}.Line())
		line := ""
		if err == nil {
			line, err = s.out.ReadString('\n')
		}
		if err == nil && line != nbd.Command+" listens\n" {
			err = fmt.Errorf("unexpected answer %q", line)
		}
		if err != nil {
			_, ended := end(all)
			return nil, fmt.Errorf("serve %s: %w", one.path, errors.Join(err, ended))
		}
	}
	return all, nil
}

func begin(ctx context.Context, m platform.Machine, program string) *diskServer {
	in, to := io.Pipe()
	from, out := io.Pipe()
	s := &diskServer{in: to, out: bufio.NewReader(from), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		r, err := m.Run(ctx, platform.Command{Argv: []string{program, nbd.Command}, Stdin: in, Stdout: out})
		if s.used = r.User + r.System; err == nil && r.Exit != 0 {
			err = workload.Ended(nbd.Command, r)
		}
		s.err = err
		_, _ = in.CloseWithError(io.ErrClosedPipe), out.Close()
	}()
	return s
}

// through asks a server what it does, as the level of a study.
func (s *diskServer) through() (string, error) {
	var st nbd.Status
	_, err := io.WriteString(s.in, nbd.Ask)
	if err == nil {
		var line []byte
		if line, err = s.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &st)
		}
	}
	if err != nil {
		return "", fmt.Errorf("query the disk server: %w", err)
	}
	apart := strings.Count(" "+strings.Join(st.Filters, " "), " daemon:")
	switch {
	case apart != len(st.Apart):
		return "", fmt.Errorf("of %d filters with a process of their own %d have one", apart, len(st.Apart))
	case len(st.Filters) == 0:
		return served, nil
	}
	return strings.Join(st.Filters, " "), nil
}

// end ends the servers and tells the CPU time that they took.
func end(all []*diskServer) (used time.Duration, err error) {
	for _, s := range all {
		err = errors.Join(err, s.in.Close())
		_, _ = io.Copy(io.Discard, s.out) // what it counted
		<-s.ended
		used, err = used+s.used, errors.Join(err, s.err)
	}
	return used, err
}

// throughAll is what the load went through, as each server says.
func throughAll(all []*diskServer) (level string, err error) {
	level = straight
	for i, s := range all {
		one, err := s.through()
		if err != nil {
			return "", err
		}
		if i > 0 && one != level {
			return "", fmt.Errorf("the servers differ: %s and %s", one, level)
		}
		level = one
	}
	return level, nil
}
