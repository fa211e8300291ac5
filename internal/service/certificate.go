package service

import (
	"time"

	"plimsoll/internal/service/certificate"
)

// Certificate is the certificate of a study's TLS server.
type Certificate = certificate.Certificate

// Names of the files of certificate and key, below the server's folder.
const CertFile, KeyFile = certificate.CertFile, certificate.KeyFile

// NewServerCertificate creates a certificate for a server with TLS, and none for one without.
func NewServerCertificate(speaks bool, hosts ...string) (Certificate, error) {
	if !speaks {
		return Certificate{}, nil
	}
	return NewCertificate(hosts...)
}

// NewCertificate creates a certificate for loopback addresses and further hosts, names or IP addresses. It is valid from a day ago, as
// clocks of other machines may be behind, for thirty days.
func NewCertificate(hosts ...string) (Certificate, error) {
	return certificate.New(time.Now().AddDate(0, 0, -1), append([]string{"localhost", Loopback, "::1"}, hosts...))
}
