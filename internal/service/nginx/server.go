package nginx

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/webfiles"
)

// server is a private instance with its clients.
type server struct {
	endpoint load.Endpoint
	control  string // address of its status page
	machine  platform.Machine
	dir      string
	program  string
}

// ready sends a request to the port that requires the secret, unknown to other servers, and
// then an ordinary one. Nginx binds all ports before it responds on one.
func (s *server) ready(ctx context.Context) (service.Live, error) {
	if _, err := s.status(ctx); err != nil {
		return service.Live{}, err
	}
	if _, err := find(ctx, s.machine, s.endpoint); err != nil {
		return service.Live{}, err
	}
	return service.Live{
		Endpoints: map[string]load.Endpoint{"http": s.endpoint},
		Observe:   s.observe, Count: s.count,
		Release: func(ctx context.Context) error { return s.signal(ctx, "reload") },
		Leave:   func(ctx context.Context) error { return s.signal(ctx, "quit") },
	}, nil
}

// signal sends a signal by the name that nginx has for it. After reload and quit the workers complete the responses under way, and
// close their connections.
func (s *server) signal(ctx context.Context, name string) error {
	r, err := s.machine.Run(ctx, platform.Command{Argv: []string{s.program, "-p", s.dir + "/", "-e", logName, "-c", configName, "-s", name}, Dir: s.dir})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("it ended with status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("nginx -s %s: %w", name, err)
	}
	return nil
}

// status is the output of stub_status.
func (s *server) status(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.control+"/status", nil)
	if err != nil {
		return "", fmt.Errorf("query nginx: %w", err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return service.Dial(ctx, s.machine, load.Endpoint{Network: network, Address: address})
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: 10 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("query nginx: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it responds %s: another server may have its port", answer.Status)
	}
	if err != nil {
		return "", fmt.Errorf("query nginx: %w", err)
	}
	return string(body), nil
}

func (s *server) count(ctx context.Context) (map[string]float64, error) {
	text, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := parseStatus(text)
	if err != nil {
		return nil, err
	}
	workers, err := s.workers(ctx)
	if err != nil {
		return nil, err
	}
	counts["nginx.cpu"] = 0
	for _, w := range workers {
		counts["nginx.cpu"] += w.Seconds()
	}
	return counts, nil
}

// parseStatus reads
//
//	Active connections: 2
//	server accepts handled requests
//	 5 5 9
//	Reading: 0 Writing: 1 Waiting: 1
func parseStatus(text string) (map[string]float64, error) {
	var clients, accepts, handled, requests, reading, writing, waiting float64
	_, err := fmt.Sscanf(strings.Join(strings.Fields(text), " "),
		"Active connections: %f server accepts handled requests %f %f %f Reading: %f Writing: %f Waiting: %f",
		&clients, &accepts, &handled, &requests, &reading, &writing, &waiting)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the status of nginx: %q", text)
	}
	return map[string]float64{
		"nginx.requests": requests, "nginx.connections": accepts, "nginx.clients": clients, "nginx.idle": waiting,
	}, nil
}

func (s *server) observe(ctx context.Context) (map[string]string, error) {
	w, err := find(ctx, s.machine, s.endpoint)
	if err != nil {
		return nil, err
	}
	observed := w.observed()
	if err := s.observePages(ctx, w, observed); err != nil {
		return nil, err
	}
	workers, err := s.workers(ctx)
	if err != nil {
		return nil, err
	}
	observed["workers"] = strconv.Itoa(len(workers))
	kept, err := s.kept(ctx)
	if err != nil {
		return nil, err
	}
	if kept > 0 {
		observed["keepalive_requests"] = strconv.Itoa(kept)
	}
	return observed, nil
}

// observePages counts the listed pages, and requests the size of each file of the first
// page.
func (s *server) observePages(ctx context.Context, w client, observed map[string]string) error {
	_, manifest, err := w.get(ctx, s.endpoint, http.MethodGet, webfiles.Manifest)
	if err != nil {
		return fmt.Errorf("request a page from nginx: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(manifest)), "\n")
	size, files := int64(0), strings.Fields(lines[0])
	for _, entry := range files {
		name, _, _ := strings.Cut(entry, ":")
		answer, _, err := w.get(ctx, s.endpoint, http.MethodHead, name)
		if err != nil {
			return fmt.Errorf("request a page from nginx: %w", err)
		}
		size += answer.ContentLength
	}
	observed["pages"] = strconv.Itoa(len(lines))
	observed["images"] = strconv.Itoa(len(files) - 1)
	observed["page_size"] = parameter.Bytes(size).String()
	return nil
}

// mostKept is the maximum number of requests to find keepalive_requests.
const mostKept = 20000

// kept is the number of requests that nginx serves on one connection, found by sending them; 0
// if it is more than mostKept. The limit is the same for both ports.
func (s *server) kept(ctx context.Context) (int, error) {
	u, err := url.Parse(s.control + "/status")
	if err != nil {
		return 0, fmt.Errorf("count requests of a connection: %w", err)
	}
	conn, err := service.Dial(ctx, s.machine, load.Endpoint{Network: "tcp", Address: u.Host})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	request := "GET " + u.Path + " HTTP/1.1\r\nHost: " + u.Host + "\r\n\r\n"
	const batch = 50 // fits into the buffers of both sides
	from := bufio.NewReader(conn)
	for n := 0; n < mostKept; {
		// Nginx closes within a batch, so the rest may be unread.
		_, broken := io.WriteString(conn, strings.Repeat(request, batch))
		for range batch {
			answer, err := http.ReadResponse(from, nil)
			if err != nil {
				if broken != nil {
					err = broken
				}
				return 0, fmt.Errorf("count requests of a connection: after %d: %w", n, err)
			}
			answer.Body.Close()
			if n++; answer.Close {
				return n, nil
			}
		}
	}
	return 0, nil
}

// workers are the CPU times of the children of the main process. Not every kernel lists children, so all
// processes are scanned.
func (s *server) workers(ctx context.Context) ([]time.Duration, error) {
	text, err := s.machine.ReadFile(ctx, path.Join(s.dir, pidName))
	if err != nil {
		return nil, fmt.Errorf("find the workers of nginx: %w", err)
	}
	main := strings.TrimSpace(string(text))
	listed, err := s.machine.Run(ctx, platform.Command{Argv: []string{"ls", "/proc"}})
	if err != nil {
		return nil, fmt.Errorf("find the workers of nginx: %w", err)
	}
	argv := []string{"cat", "--"}
	for name := range strings.FieldsSeq(string(listed.Stdout)) {
		if _, err := strconv.Atoi(name); err == nil {
			argv = append(argv, "/proc/"+name+"/stat")
		}
	}
	// The program reports an error for exited processes. All are read at once, as the machine
	// may be remote.
	all, err := s.machine.Run(ctx, platform.Command{Argv: argv})
	if err != nil {
		return nil, fmt.Errorf("find the workers of nginx: %w", err)
	}
	var workers []time.Duration
	for line := range strings.Lines(string(all.Stdout)) {
		if parent, cpu, ok := parseStat(line); ok && parent == main {
			workers = append(workers, cpu)
		}
	}
	return workers, ctx.Err()
}

// parseStat parses the parent and the CPU time of a process. The name before them, in
// parentheses, may contain any character.
func parseStat(stat string) (parent string, cpu time.Duration, ok bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return "", 0, false
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 for every program
	return fields[1], time.Duration(user+system) * tick, err1 == nil && err2 == nil
}
