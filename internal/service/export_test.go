package service

// MakeCertificate makes one that is valid for a month from an instant on, for no more than
// the hosts.
var MakeCertificate = newCertificate
