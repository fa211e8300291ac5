package proxmox

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Rule is a rule of the HA manager, or a group of its former releases.
type Rule struct {
	Name      string `json:"rule"`
	Type      string `json:"type"`      // node-affinity or resource-affinity
	Affinity  string `json:"affinity"`  // of resources: positive or negative
	Resources string `json:"resources"` // such as vm:100,ct:101
	Nodes     string `json:"nodes"`     // such as pve1,pve2:2
	Strict    Number `json:"strict"`
	Disabled  Number `json:"disable"`
}

// Rules lists the rules of the HA manager. Before Proxmox VE 9 these are its groups, each with
// the resources in it.
func (c *Client) Rules(ctx context.Context) (list []Rule, err error) {
	err = c.call(ctx, get("/cluster/ha/rules"), &list)
	if refused := new(Refused); !errors.As(err, &refused) || refused.Status != http.StatusNotImplemented && refused.Status != http.StatusNotFound {
		return list, err
	}
	var groups []struct {
		Name       string `json:"group"`
		Nodes      string `json:"nodes"`
		Restricted Number `json:"restricted"`
	}
	var resources []struct {
		ID    string `json:"sid"`
		Group string `json:"group"`
	}
	if err := c.call(ctx, get("/cluster/ha/groups"), &groups); err != nil {
		return nil, err
	}
	if err := c.call(ctx, get("/cluster/ha/resources"), &resources); err != nil {
		return nil, err
	}
	list = nil
	for _, g := range groups {
		r := Rule{Name: g.Name, Type: "node-affinity", Nodes: g.Nodes, Strict: g.Restricted}
		var ids []string
		for _, resource := range resources {
			if resource.Group == g.Name {
				ids = append(ids, resource.ID)
			}
		}
		if r.Resources = strings.Join(ids, ","); len(ids) > 0 {
			list = append(list, r)
		}
	}
	return list, nil
}

// NodeStates are the states of nodes in the view of the HA manager, such as online or
// maintenance; none where it has never run.
func (c *Client) NodeStates(ctx context.Context) (map[string]string, error) {
	var v struct {
		Manager struct {
			Nodes map[string]string `json:"node_status"`
		} `json:"manager_status"`
	}
	err := c.call(ctx, get("/cluster/ha/status/manager_status"), &v)
	return v.Manager.Nodes, err
}
