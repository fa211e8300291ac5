package network

import "plimsoll/internal/parameter"

// candidates are the settings to tune first. Source: Linux, Documentation/networking/ip-sysctl.rst.
func candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "host.sysctl:net.ipv4.tcp_rmem", Levels: []string{"4096 131072 16777216", "4096 1048576 67108864"}, Why: "up for a large product of bandwidth and delay"},
		{Setting: "host.sysctl:net.ipv4.tcp_wmem", Levels: []string{"4096 131072 16777216", "4096 1048576 67108864"}, Why: "up for a large product of bandwidth and delay"},
		{Setting: "host.sysctl:net.core.netdev_max_backlog", Levels: []string{"1000", "10000"}, Why: "up: no packet is dropped before the protocol stack"},
	}
}
