package proxmox

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// parallel is how many calls a client has under way at once.
const parallel = 8

func get(path string, parts ...string) request {
	for _, part := range parts {
		path = strings.Replace(path, "{}", url.PathEscape(part), 1)
	}
	return request{method: http.MethodGet, path: path}
}

// Resource is an entry of the cluster's list: a node, a guest or a storage of a node.
type Resource struct {
	Type     string `json:"type"` // node, qemu, lxc, storage
	Node     string `json:"node"`
	Status   string `json:"status"`
	Name     string `json:"name"`
	VMID     Number `json:"vmid"`
	Template Number `json:"template"`
	CPU      Number `json:"cpu"` // in use, in parts of MaxCPU
	MaxCPU   Number `json:"maxcpu"`
	Memory   Number `json:"mem"`     // bytes in use
	OnHost   Number `json:"memhost"` // bytes that the guest holds of its node
	MaxMem   Number `json:"maxmem"`
	Lock     string `json:"lock"`
	HAState  string `json:"hastate"`
	Pool     string `json:"pool"`
	Storage  string `json:"storage"`
	Shared   Number `json:"shared"`
	Content  string `json:"content"` // of a storage, such as "images,rootdir"
}

// Resources lists what the account may see.
func (c *Client) Resources(ctx context.Context) (list []Resource, err error) {
	return list, c.call(ctx, get("/cluster/resources"), &list)
}

// Member is the cluster or a node, in the view of the node that answers.
type Member struct {
	Type    string `json:"type"` // cluster or node
	Name    string `json:"name"`
	Quorate Number `json:"quorate"`
	Online  Number `json:"online"`
}

// Members lists the cluster and its nodes.
func (c *Client) Members(ctx context.Context) (list []Member, err error) {
	return list, c.call(ctx, get("/cluster/status"), &list)
}

// Certificate is one of those that a node shows.
type Certificate struct {
	File        string `json:"filename"`
	Fingerprint string `json:"fingerprint"`
}

// Certificates lists the certificates of a node, among them that of the cluster's own authority.
func (c *Client) Certificates(ctx context.Context, node string) (list []Certificate, err error) {
	return list, c.call(ctx, get("/nodes/{}/certificates/info", node), &list)
}

// Node is the hardware of a node.
type Node struct {
	CPU struct {
		CPUs    Number `json:"cpus"`
		Cores   Number `json:"cores"` // of all sockets
		Sockets Number `json:"sockets"`
		MHz     Number `json:"mhz"`
	} `json:"cpuinfo"`
	Memory struct {
		Total Number `json:"total"`
	} `json:"memory"`
}

// Node describes a node.
func (c *Client) Node(ctx context.Context, name string) (n Node, err error) {
	return n, c.call(ctx, get("/nodes/{}/status", name), &n)
}

// Bridges lists the bridges of a node that guests can be connected to.
func (c *Client) Bridges(ctx context.Context, node string) (names []string, err error) {
	r := get("/nodes/{}/network", node)
	r.query = url.Values{"type": {"any_bridge"}}
	var list []struct {
		Name string `json:"iface"`
	}
	err = c.call(ctx, r, &list)
	for _, b := range list {
		names = append(names, b.Name)
	}
	return names, err
}

// Config is the configuration of a VM: settings by name.
type Config map[string]Word

// Config reads the configuration of a VM.
func (c *Client) Config(ctx context.Context, node string, vmid int) (v Config, err error) {
	return v, c.call(ctx, get("/nodes/{}/qemu/{}/config", node, strconv.Itoa(vmid)), &v)
}

// Sample is the load of a VM over some time.
type Sample struct {
	CPU    *Number `json:"cpu"` // absent where nothing was recorded
	MaxCPU Number  `json:"maxcpu"`
	Memory Number  `json:"mem"`
}

// History is the load of a VM over the last hour, a sample a minute, the oldest first.
func (c *Client) History(ctx context.Context, node string, vmid int) (list []Sample, err error) {
	r := get("/nodes/{}/qemu/{}/rrddata", node, strconv.Itoa(vmid))
	r.query = url.Values{"timeframe": {"hour"}, "cf": {"AVERAGE"}}
	return list, c.call(ctx, r, &list)
}

// Permissions are the account's privileges by path.
func (c *Client) Permissions(ctx context.Context) (v map[string]map[string]Number, err error) {
	return v, c.call(ctx, get("/access/permissions"), &v)
}

// Notes are the notes of a node, and what tells a change of them by others.
type Notes struct {
	Text   string `json:"description"`
	Digest string `json:"digest"`
}

// Notes reads the notes of a node.
func (c *Client) Notes(ctx context.Context, node string) (n Notes, err error) {
	return n, c.call(ctx, get("/nodes/{}/config", node), &n)
}

// SetNotes replaces the notes of a node, unless others changed them since they were read.
func (c *Client) SetNotes(ctx context.Context, node string, n Notes) error {
	r := get("/nodes/{}/config", node)
	r.method, r.form = http.MethodPut, url.Values{"description": {n.Text}}
	if n.Text == "" {
		r.form = url.Values{"delete": {"description"}}
	}
	if n.Digest != "" {
		r.form.Set("digest", n.Digest)
	}
	return c.call(ctx, r, nil)
}
