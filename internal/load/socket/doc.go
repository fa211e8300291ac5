// Package socket runs a load over sockets on a few locked threads: the load core. Each
// measuring thread has its own connections, its own part of the schedule and its own counts,
// and waits in epoll. Requests are appended to one buffer per connection and written in one
// call; an operation is a slot in an array. There is no goroutine, no map and no allocation
// per operation.
//
// It requires Linux. On other systems the load runs on goroutines (package routine).
package socket
