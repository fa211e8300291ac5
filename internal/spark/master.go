package spark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"time"
)

// Status is what the web interface of a master tells of its cluster (JsonProtocol of org.apache.spark.deploy).
type Status struct {
	URL     string   `json:"url"` // spark://host:port
	Workers []Worker `json:"workers"`
	Active  []struct {
		Name string `json:"name"`
	} `json:"activeapps"`
	State string `json:"status"` // ALIVE, STANDBY and others
}

// Worker is one worker of a cluster. Memory is in MiB.
type Worker struct {
	ID         string `json:"id"`
	State      string `json:"state"` // ALIVE, DEAD and others
	Cores      int    `json:"cores"`
	CoresUsed  int    `json:"coresused"`
	Memory     int64  `json:"memory"`
	MemoryUsed int64  `json:"memoryused"`
}

const alive = "ALIVE"

// Alive are the workers that serve.
func (s Status) Alive() (all []Worker) {
	for _, w := range s.Workers {
		if w.State == alive {
			all = append(all, w)
		}
	}
	return all
}

// Dial connects to an address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	answering = 10 * time.Second
	mostPage  = 4 << 20 // bytes
)

// Ask asks the master with a web interface at an address, host:port, for its status.
func Ask(ctx context.Context, dial Dial, web string) (Status, error) {
	page, err := get(ctx, dial, "http://"+web+"/json/")
	if err != nil {
		return Status{}, err
	}
	s, err := parseStatus(page)
	if err != nil {
		return s, fmt.Errorf("%s is no web interface of a Spark master: %w", web, err)
	}
	return s, nil
}

func parseStatus(page []byte) (s Status, err error) {
	if err = json.Unmarshal(page, &s); err != nil {
		return s, err
	}
	if s.URL == "" || s.State == "" {
		return s, errors.New("it tells no address or no status")
	}
	for _, w := range s.Workers {
		if w.Cores < 0 || w.CoresUsed < 0 || w.Memory < 0 || w.MemoryUsed < 0 {
			return s, fmt.Errorf("worker %.100q has less than nothing", w.ID)
		}
	}
	return s, nil
}

var versionOnPage = regexp.MustCompile(`class="version"[^>]*>\s*([0-9][0-9A-Za-z.-]*)\s*<`)

// Version is the version of a master, which only its page tells; empty where it does not.
func Version(ctx context.Context, dial Dial, web string) (string, error) {
	page, err := get(ctx, dial, "http://"+web+"/")
	if err != nil {
		return "", err
	}
	if m := versionOnPage.FindSubmatch(page); m != nil {
		return string(m[1]), nil
	}
	return "", nil
}

func get(ctx context.Context, dial Dial, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answering, fmt.Errorf("no response within %s", answering))
	defer cancel()
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the master: %w", err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the master: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // the answer is there
	page, err := io.ReadAll(io.LimitReader(answer.Body, mostPage))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the master at %s: %w", url, err)
	}
	return page, nil
}
