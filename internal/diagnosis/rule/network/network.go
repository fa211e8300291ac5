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

// share and the like are evidence with a unit.
func share(name string, value float64) diagnosis.Fact { return fact(name, value, "share") }

func number(name string, value float64) diagnosis.Fact { return fact(name, value, "1") }

func fact(name string, value float64, unit string) diagnosis.Fact {
	return diagnosis.Fact{Name: name, Value: value, Unit: unit}
}
