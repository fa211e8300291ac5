// Package socket drives a load over sockets from a few locked threads: the load
// core. Each measuring thread has its own connections, its own share of the
// schedule and its own counts, and waits in epoll. Requests are appended to one
// buffer a connection and written in one call; an operation is a slot in an array.
// There is no goroutine, no map and no allocation for an operation.
//
// It needs Linux. Elsewhere the same load runs on goroutines (package routine).
package socket
