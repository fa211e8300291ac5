package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// UPID identifies a task.
type UPID struct {
	text string
	Node string
	Type string // such as qmigrate
	ID   string // of the guest
	User string
}

// ParseUPID parses UPID:node:pid:pstart:starttime:type:id:user:.
func ParseUPID(text string) (UPID, error) {
	parts := strings.Split(text, ":")
	if len(text) > 512 || len(parts) != 9 || parts[0] != "UPID" || parts[8] != "" || parts[1] == "" || parts[5] == "" || parts[7] == "" || strings.ContainsAny(text, "/?#\n") {
		return UPID{}, fmt.Errorf("%q identifies no task of Proxmox VE", oneLine(text))
	}
	for _, number := range parts[2:5] {
		if _, err := strconv.ParseUint(number, 16, 64); err != nil {
			return UPID{}, fmt.Errorf("%q identifies no task of Proxmox VE", oneLine(text))
		}
	}
	return UPID{text, parts[1], parts[5], parts[6], parts[7]}, nil
}

// String is the text of the API.
func (u UPID) String() string { return u.text }

// Migration is a migration of a VM.
type Migration struct {
	Node   string
	VMID   int
	Target string
	Online bool // the VM runs
}

// Migrate begins a migration.
func (c *Client) Migrate(ctx context.Context, m Migration) (UPID, error) {
	r := get("/nodes/{}/qemu/{}/migrate", m.Node, strconv.Itoa(m.VMID))
	r.method, r.form = http.MethodPost, url.Values{"target": {m.Target}}
	if m.Online {
		r.form.Set("online", "1")
	}
	var text string
	if err := c.call(ctx, r, &text); err != nil {
		return UPID{}, err
	}
	return ParseUPID(text)
}

// Power begins the start of a VM on its node, or with a time to shut its guest down within that. The
// power of a guest is not cut.
func (c *Client) Power(ctx context.Context, node string, vmid int, shutdown time.Duration) (UPID, error) {
	r := get("/nodes/{}/qemu/{}/status/start", node, strconv.Itoa(vmid))
	if shutdown > 0 {
		r = get("/nodes/{}/qemu/{}/status/shutdown", node, strconv.Itoa(vmid))
		r.form = url.Values{"timeout": {strconv.Itoa(int(shutdown.Seconds()))}}
	}
	r.method = http.MethodPost
	var text string
	if err := c.call(ctx, r, &text); err != nil {
		return UPID{}, err
	}
	return ParseUPID(text)
}

// Obstacles say what keeps a VM from migrating.
type Obstacles struct {
	LocalDisks []struct {
		Volume string `json:"volid"`
	} `json:"local_disks"`
	LocalResources []string `json:"local_resources"`
}

// Obstacles asks what keeps a VM from migrating.
func (c *Client) Obstacles(ctx context.Context, node string, vmid int) (o Obstacles, err error) {
	return o, c.call(ctx, get("/nodes/{}/qemu/{}/migrate", node, strconv.Itoa(vmid)), &o)
}

// Task is an entry of the cluster's list of recent tasks.
type Task struct {
	UPID   string `json:"upid"`
	Type   string `json:"type"`
	ID     Word   `json:"id"`
	User   string `json:"user"`
	Status string `json:"status"` // empty while it runs, then OK or an error
	Ended  Number `json:"endtime"`
}

// Failed says whether a task ended with an error.
func (t *Task) Failed() bool { return t.Ended > 0 && !good(t.Status) }

// Tasks lists recent tasks of the cluster.
func (c *Client) Tasks(ctx context.Context) (list []Task, err error) {
	return list, c.call(ctx, get("/cluster/tasks"), &list)
}

// good is true for the exit status of a task that did what it was to do.
func good(status string) bool { return status == "OK" || strings.HasPrefix(status, "WARNINGS:") }

const (
	firstLook = 200 * time.Millisecond
	lastLook  = 2 * time.Second
	// patience is how long the end of a cancelled task is waited for.
	patience = 30 * time.Second
	// failures in a row after which the state of a task counts as unknown.
	mostFailures = 10
)

// Await waits for the end of a task. When the context ends, the task is cancelled. The error of
// a task that failed has the last lines of its log.
func (c *Client) Await(ctx context.Context, u UPID) error {
	return c.AwaitFrom(ctx, u, firstLook)
}

// AwaitFrom is Await with the pause after which the task is looked at first. With short ones its
// end is seen within a tenth of the time that it takes.
func (c *Client) AwaitFrom(ctx context.Context, u UPID, first time.Duration) error {
	err := c.end(ctx, u, first)
	if ctx.Err() == nil || err == nil {
		return err
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r := get("/nodes/{}/tasks/{}", u.Node, u.text)
	r.method = http.MethodDelete
	stop := c.call(late, r, nil)
	switch ended := c.end(late, u, firstLook); {
	case ended == nil:
		return nil // it was faster
	case late.Err() != nil:
		return fmt.Errorf("%w: the task was cancelled and has not ended after %v: %s", context.Cause(ctx), patience, u)
	case stop != nil:
		return errors.Join(context.Cause(ctx), fmt.Errorf("cancel the task: %w", stop))
	}
	return fmt.Errorf("cancelled: %w", context.Cause(ctx))
}

// end looks until a task has ended.
func (c *Client) end(ctx context.Context, u UPID, first time.Duration) error {
	failures := 0
	for wait := first; ; wait = min(wait*11/10, lastLook) {
		var v struct {
			Status string `json:"status"`
			Exit   string `json:"exitstatus"`
		}
		err := c.call(ctx, get("/nodes/{}/tasks/{}/status", u.Node, u.text), &v)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			if failures++; failures >= mostFailures {
				return fmt.Errorf("the end of the task is not known: %w", err)
			}
		case v.Status == "stopped" && good(v.Exit):
			return nil
		case v.Status == "stopped":
			return &Failed{oneLine(v.Exit) + c.tail(ctx, u)}
		default:
			failures = 0
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// tail is the end of a task's log, for the error of a task.
func (c *Client) tail(ctx context.Context, u UPID) string {
	r := get("/nodes/{}/tasks/{}/log", u.Node, u.text)
	r.query = url.Values{"limit": {"500"}}
	var lines []struct {
		Text string `json:"t"`
	}
	if c.call(ctx, r, &lines) != nil {
		return ""
	}
	var last []string
	for i := len(lines) - 1; i >= 0 && len(last) < 2; i-- {
		if t := oneLine(lines[i].Text); t != "" && !strings.HasPrefix(t, "TASK ERROR") {
			last = append([]string{t}, last...)
		}
	}
	if len(last) == 0 {
		return ""
	}
	return " (its log ends with: " + strings.Join(last, "; ") + ")"
}
