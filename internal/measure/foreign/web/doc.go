// Package web parses results of load generators for web servers.
package web

const coordinated = "closed loop: response times count from the actual start of a request, so that stalls of the server are under-represented (coordinated omission)"
