package file

import (
	"testing"

	"plimsoll/internal/parameter"
)

// A load does not make more connections than a server lets in, unless that runs already.
func TestCrowded(t *testing.T) {
	type sessions struct {
		Connections int `name:"connections"`
	}
	type server struct {
		Address string `name:"address"`
		Most    int    `name:"max_connections"`
	}
	const refused = "max_connections 200: the load opens 500 connections to each server: raise max_connections, or lower the connections of the load"
	for _, c := range []struct {
		load, served parameter.Settings
		defaults     any
		want         string
	}{
		{nil, nil, server{Most: 200}, ""},
		{parameter.Settings{"connections": "200"}, nil, server{Most: 200}, ""},
		{parameter.Settings{"connections": "500"}, nil, server{Most: 200}, refused},
		{parameter.Settings{"connections": "500"}, parameter.Settings{"max_connections": "200"}, server{Most: 1000}, refused},
		{parameter.Settings{"connections": "500"}, parameter.Settings{"max_connections": "500"}, server{Most: 200}, ""},
		{parameter.Settings{"connections": "500"}, parameter.Settings{"address": "a:1"}, server{Most: 200}, ""},
		{parameter.Settings{"connections": "500"}, nil, struct{}{}, ""},
	} {
		got := ""
		if err := checkConnections(c.load, sessions{16}, c.served, c.defaults); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v on %v: %q, not %q", c.load, c.served, got, c.want)
		}
	}
}
