package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Guest is a VM on a node.
type Guest struct {
	Client *Client
	Node   string
	ID     int
}

// NextID proposes the ID of a new guest, which nobody has from a number on.
func NextID(ctx context.Context, c *Client) (int, error) {
	var id Number
	if err := c.call(ctx, get("/cluster/nextid"), &id); err != nil {
		return 0, fmt.Errorf("ask for a free ID: %w", err)
	}
	return int(id), nil
}

// task begins a task.
func (g Guest) task(ctx context.Context, method, path string, form url.Values) (UPID, error) {
	r := get("/nodes/{}/qemu"+strings.ReplaceAll(path, "{id}", strconv.Itoa(g.ID)), g.Node)
	r.method = method
	if method == http.MethodDelete {
		r.query = form
	} else {
		r.form = form
	}
	if r.form == nil && method != http.MethodDelete {
		r.form = url.Values{}
	}
	var text string
	if err := g.Client.call(ctx, r, &text); err != nil {
		return UPID{}, err
	}
	return ParseUPID(text)
}

// Create creates the VM.
func (g Guest) Create(ctx context.Context, settings map[string]string) (UPID, error) {
	form := values(settings)
	form.Set("vmid", strconv.Itoa(g.ID))
	return g.task(ctx, http.MethodPost, "", form)
}

func values(settings map[string]string) url.Values {
	form := url.Values{}
	for name, value := range settings {
		form.Set(name, value)
	}
	return form
}

// Status changes the power state: start, stop, or suspend, which writes the memory to disk.
func (g Guest) Status(ctx context.Context, action string) (UPID, error) {
	form := url.Values{}
	if action == "suspend" {
		form.Set("todisk", "1")
	}
	return g.task(ctx, http.MethodPost, "/{id}/status/"+action, form)
}

// Delete deletes the VM with its disks.
func (g Guest) Delete(ctx context.Context) (UPID, error) {
	return g.task(ctx, http.MethodDelete, "/{id}", url.Values{"purge": {"1"}})
}

// Copy makes a full clone of the VM with an ID, a name and a description.
func (g Guest) Copy(ctx context.Context, id int, settings map[string]string) (UPID, error) {
	form := values(settings)
	form.Set("newid", strconv.Itoa(id))
	form.Set("full", "1")
	return g.task(ctx, http.MethodPost, "/{id}/clone", form)
}

// Configure changes settings.
func (g Guest) Configure(ctx context.Context, settings map[string]string) (UPID, error) {
	return g.task(ctx, http.MethodPost, "/{id}/config", values(settings))
}

// Settings reads the configuration as it will be when pending changes are in effect.
func (g Guest) Settings(ctx context.Context) (Config, error) {
	var list []struct {
		Key     string `json:"key"`
		Value   *Word  `json:"value"`
		Pending *Word  `json:"pending"`
		Delete  Number `json:"delete"`
	}
	if err := g.Client.call(ctx, get("/nodes/{}/qemu/{}/pending", g.Node, strconv.Itoa(g.ID)), &list); err != nil {
		return nil, err
	}
	all := Config{}
	for _, item := range list {
		switch {
		case item.Delete > 0:
		case item.Pending != nil:
			all[item.Key] = *item.Pending
		case item.Value != nil:
			all[item.Key] = *item.Value
		}
	}
	return all, nil
}

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	Name   string `json:"name"` // "current" is the state itself
	Parent string `json:"parent"`
}

// Snapshots lists the snapshots, and the state itself.
func (g Guest) Snapshots(ctx context.Context) (list []Snapshot, err error) {
	return list, g.Client.call(ctx, get("/nodes/{}/qemu/{}/snapshot", g.Node, strconv.Itoa(g.ID)), &list)
}

// TakeSnapshot takes a snapshot without memory.
func (g Guest) TakeSnapshot(ctx context.Context, name string) (UPID, error) {
	return g.task(ctx, http.MethodPost, "/{id}/snapshot", url.Values{"snapname": {name}})
}

// Rollback takes the VM back to a snapshot.
func (g Guest) Rollback(ctx context.Context, name string) (UPID, error) {
	return g.task(ctx, http.MethodPost, "/{id}/snapshot/"+url.PathEscape(name)+"/rollback", nil)
}

// DeleteSnapshot deletes a snapshot.
func (g Guest) DeleteSnapshot(ctx context.Context, name string) (UPID, error) {
	return g.task(ctx, http.MethodDelete, "/{id}/snapshot/"+url.PathEscape(name), nil)
}

// Failed is a task that ended with an error.
type Failed struct{ Text string }

// Error is what the task says.
func (f *Failed) Error() string { return "the task failed: " + f.Text }

// Fault reports whether the cluster refused a call or failed a task, and names the reason.
func Fault(err error) (name string, is bool) {
	refused, failed := new(Refused), new(Failed)
	text := ""
	switch {
	case errors.As(err, &refused):
		name, text = fmt.Sprintf("status-%d", refused.Status), refused.Text
	case errors.As(err, &failed):
		name, text = "task-failed", failed.Text
	default:
		return "", false
	}
	for _, known := range []struct{ text, name string }{
		{"is locked", "locked"}, {"Permission check failed", "permission-denied"}, {"already running", "already-running"},
		{"not running", "not-running"}, {"already exists", "already-exists"}, {"does not exist", "no-such-object"},
		{"can't lock file", "lock-timeout"}, {"no quorum", "no-quorum"}, {"snapshot feature is not available", "no-snapshots"},
	} {
		if strings.Contains(text, known.text) {
			return known.name, true
		}
	}
	return name, true
}

// Holds reports whether permissions include a privilege on a path or one above it.
func Holds(held map[string]map[string]Number, path, privilege string) bool {
	for {
		if _, has := held[path][privilege]; has {
			return true
		}
		if path == "/" || path == "" {
			return false
		}
		if path = path[:strings.LastIndex(path, "/")]; path == "" {
			path = "/"
		}
	}
}
