package service

import "plimsoll/internal/service/certificate"

// MakeCertificate makes a certificate of the hosts that is valid for a month from an instant
// on.
var MakeCertificate = certificate.New
