package service

// MakeCertificate makes a certificate of the hosts that is valid for a month from an instant
// on.
var MakeCertificate = newCertificate
