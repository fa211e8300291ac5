// Package network holds the rules about networks, connections and sockets.
package network

import "plimsoll/internal/diagnosis"

// All lists the rules.
func All() []diagnosis.Rule {
	return []diagnosis.Rule{
		interfaceSaturated, tcpRetransmits, bufferbloat, networkDelay, socketBuffers,
		listenQueue, connectionLimit, fileLimit, conntrackFull, ephemeralPorts,
	}
}
